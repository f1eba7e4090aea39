// Three ways to run one superstep after another, and the same superstep for all of them.
//
// The graph is chains side by side: `successor` of a vertex, -1 at an end.  A superstep gives the successors
// of the listed vertices their hops and lists them; which of the two lists and of the three counts it
// uses goes by its number.  All stop after `steps` of them, so that an empty frontier runs as many.

struct Work {
    const int* successor;
    int* hops;
    int* lists;  // two of `width`
    int* counts;  // three
    long long width;
};

__device__ void superstep(Work work, int number)
{
    int count = *(volatile int*)&work.counts[number % 3];
    const int* listed = work.lists + number % 2 * work.width;
    int* next = work.lists + (number + 1) % 2 * work.width;
    if (blockIdx.x == 0 && threadIdx.x == 0) work.counts[(number + 2) % 3] = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        int other = work.successor[*(volatile const int*)&listed[i]];
        if (other >= 0 && atomicCAS(&work.hops[other], -1, number + 1) == -1)
            next[atomicAdd(&work.counts[(number + 1) % 3], 1)] = other;
    }
}

// As cooperative groups have it: block 0 adds what makes the word's highest bit flip when all are there.
__device__ void meet(unsigned int* word)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned int mine = blockIdx.x == 0 ? 0x80000000u - (gridDim.x - 1) : 1u;
        __threadfence();
        unsigned int before = atomicAdd(word, mine);
        while (((before ^ *(volatile unsigned int*)word) & 0x80000000u) == 0) {
        }
        __threadfence();
    }
    __syncthreads();
}

// All supersteps in one cooperative launch.
extern "C" __global__ void __launch_bounds__(512) together(
    const int* successor, int* hops, int* lists, int* counts, unsigned int* word, long long width,
    long long steps)
{
    Work work = {successor, hops, lists, counts, width};
    for (int number = 0; number < steps; ++number) {
        superstep(work, number);
        meet(word);
    }
}

// All supersteps by one block.
extern "C" __global__ void __launch_bounds__(512) alone(
    const int* successor, int* hops, int* lists, int* counts, unsigned int* word, long long width,
    long long steps)
{
    Work work = {successor, hops, lists, counts, width};
    for (int number = 0; number < steps; ++number) {
        superstep(work, number);
        __threadfence_block();
        __syncthreads();
    }
}

// One superstep; the last block to finish counts it, and says whether there is another.  `control` is the
// superstep's number and the blocks that have finished.
extern "C" __global__ void __launch_bounds__(512) single(
    const int* successor, int* hops, int* lists, int* counts, int* control, long long width,
    long long steps, unsigned long long handle)
{
    Work work = {successor, hops, lists, counts, width};
    int number = *(volatile int*)control;
    superstep(work, number);
    __threadfence();
    __syncthreads();
    if (threadIdx.x != 0 || atomicAdd(&control[1], 1) != gridDim.x - 1) return;
    control[0] = number + 1;
    control[1] = 0;
#ifdef CONDITIONAL
    cudaGraphSetConditional(handle, number + 1 < steps);
#endif
}
