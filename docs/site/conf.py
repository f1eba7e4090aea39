"""Sphinx's configuration; `bash ci/docs.sh` builds the site."""

import cugraph_ws as ws

project = "cugraph_ws"
release = version = ws.__version__

extensions = ["myst_nb", "numpydoc", "sphinx.ext.autodoc"]
exclude_patterns = ["_build"]
nitpicky = True
nitpick_ignore = [("py:class", "cugraph_ws.errors._CarriesResult")]  # a base class of errors
default_role = "literal"

html_theme = "pydata_sphinx_theme"
html_title = "cugraph_ws"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_sidebars: dict[str, list[str]] = {  # pages without pages below them
    "index": [],
    "start": [],
    "first-program": [],
    "meaning": [],
    "pipelines": [],
    "papers": [],
}
html_theme_options = {
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 7,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": [],
    "footer_end": [],
}

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

nb_execution_mode = "force"
nb_execution_in_temp = True  # cells write files
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_execution_timeout = 120  # seconds for each cell
nb_merge_streams = True

autodoc_typehints = "none"  # numpydoc's sections describe types in words
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
