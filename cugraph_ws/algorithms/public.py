"""What users have of the algorithms' files, a line for each: the names in its `__all__`."""

# ruff: noqa: F403

from cugraph_ws.algorithms.belief_propagation import *
from cugraph_ws.algorithms.betweenness import *
from cugraph_ws.algorithms.bfs import *
from cugraph_ws.algorithms.biconnectivity import *
from cugraph_ws.algorithms.circuit import *
from cugraph_ws.algorithms.closeness import *
from cugraph_ws.algorithms.components import *
from cugraph_ws.algorithms.core import *
from cugraph_ws.algorithms.degrees import *
from cugraph_ws.algorithms.delta_pagerank import *
from cugraph_ws.algorithms.eigenvector import *
from cugraph_ws.algorithms.heat import *
from cugraph_ws.algorithms.hits import *
from cugraph_ws.algorithms.independent_set import *
from cugraph_ws.algorithms.label_propagation import *
from cugraph_ws.algorithms.leiden import *
from cugraph_ws.algorithms.louvain import *
from cugraph_ws.algorithms.matching import *
from cugraph_ws.algorithms.modularity import *
from cugraph_ws.algorithms.multi_source import *
from cugraph_ws.algorithms.neural_network import *
from cugraph_ws.algorithms.pagerank import *
from cugraph_ws.algorithms.paths import *
from cugraph_ws.algorithms.personalized_pagerank import *
from cugraph_ws.algorithms.similarity import *
from cugraph_ws.algorithms.spanning_tree import *
from cugraph_ws.algorithms.sssp import *
from cugraph_ws.algorithms.strong_components import *
from cugraph_ws.algorithms.subgraphs import *
from cugraph_ws.algorithms.topological_levels import *
from cugraph_ws.algorithms.triangles import *
from cugraph_ws.algorithms.truss import *
from cugraph_ws.algorithms.widest_path import *
