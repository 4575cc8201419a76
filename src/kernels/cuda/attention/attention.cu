#include <initializer_list>

#include "kernels/cuda/attention/attention_call.cuh"
#include "kernels/cuda/attention/attention_paths.hpp"
#include "kernels/cuda/support/sums.cuh"

namespace trireme::kernels {
namespace gpu {
namespace {

constexpr unsigned statistics_threads = 256;

// Arguments of compute_statistics().
template <class T>
struct StatisticsCall {
    device::Elements<const T> output;                // (rows, heads * head size)
    device::Elements<const T> grad_output;           // (rows, heads * head size)
    device::Elements<const Accumulator<T>> log_sum;  // (rows, heads)
    unsigned heads, head_size;
    Accumulator<T> log_factor;                    // factor of log_sum
    QueryStatistics<Accumulator<T>>* statistics;  // (heads, rows)
};

// Computes the QueryStatistics, with one warp per query and head.
template <class T>
__global__ void __launch_bounds__(statistics_threads) compute_statistics(StatisticsCall<T> op) {
    using W = Accumulator<T>;
    const std::size_t pair_index = (std::size_t{blockIdx.x} * statistics_threads + threadIdx.x) / warp_size;
    const std::size_t row = pair_index / op.heads;
    const auto head = static_cast<unsigned>(pair_index % op.heads);
    if (row >= op.output.rows) return;
    const unsigned lane = threadIdx.x % warp_size;
    const T* const output = op.output.row(row) + std::size_t{head} * op.head_size;
    const T* const grad = op.grad_output.row(row) + std::size_t{head} * op.head_size;
    W sum = 0;
    for (unsigned c = lane; c < op.head_size; c += warp_size)
        sum += static_cast<W>(output[c]) * static_cast<W>(grad[c]);
    const W delta = sum_over_warp(sum);
    if (lane == 0) op.statistics[head * op.output.rows + row] = {op.log_factor * op.log_sum(row, head), delta};
}

}  // namespace

template <class T>
const QueryStatistics<Accumulator<T>>* compute_query_statistics(device::CudaStream& stream,
                                                                const AttentionBackward& op,
                                                                Accumulator<T> log_factor) {
    using Statistics = QueryStatistics<Accumulator<T>>;
    const std::size_t pairs = op.query.rows * op.shape.heads;  // number of (query, head) pairs
    const StatisticsCall<T> call{
        .output = get_elements<T>(op.output),
        .grad_output = get_elements<T>(op.grad_output),
        .log_sum = get_elements<Accumulator<T>>(op.log_sum),
        .heads = static_cast<unsigned>(op.shape.heads),
        .head_size = static_cast<unsigned>(op.query.columns / op.shape.heads),
        .log_factor = log_factor,
        .statistics = reinterpret_cast<Statistics*>(stream.work->get_scratch(pairs * sizeof(Statistics)))};
    const unsigned blocks = count_blocks(pairs, statistics_threads / warp_size);
    launch_kernel(stream, {.blocks_x = blocks, .threads = statistics_threads}, compute_statistics<T>, call);
    return call.statistics;
}

template const QueryStatistics<double>* compute_query_statistics<double>(device::CudaStream&,
                                                                         const AttentionBackward&, double);
template const QueryStatistics<float>* compute_query_statistics<float>(device::CudaStream&,
                                                                       const AttentionBackward&, float);
template const QueryStatistics<float>* compute_query_statistics<device::Bf16>(device::CudaStream&,
                                                                              const AttentionBackward&, float);

}  // namespace gpu

namespace {

// Returns true if every row begins at a multiple of 16 bytes.
bool is_chunk_aligned(const device::ConstTensor& tensor) {
    constexpr std::size_t chunk_bytes = 16;
    return reinterpret_cast<std::uintptr_t>(tensor.data) % chunk_bytes == 0 &&
           (tensor.rows <= 1 || tensor.stride * byte_size(tensor.dtype) % chunk_bytes == 0);
}

// Returns true if the tensor-core kernels support the shape and the tensors. The scale must be positive,
// because a negative scale would turn the largest dot product into the smallest score. The first of `tensors`
// is the query.
bool suits_tensor_cores(const AttentionShape& shape, std::initializer_list<device::ConstTensor> tensors) {
    const device::ConstTensor& query = *tensors.begin();
    const std::size_t head_size = query.columns / shape.heads;
    return query.dtype == device::DType::bf16 && head_size > 0 && head_size % 8 == 0 && head_size <= 128 &&
           shape.scale > 0 && std::ranges::all_of(tensors, is_chunk_aligned);
}

}  // namespace

void run(device::CudaStream& stream, const Attention& op) {
    const bool uses_tensor_cores = suits_tensor_cores(op.shape, {op.query, op.key, op.value, op.output});
    uses_tensor_cores ? gpu::run_tensor_attention(stream, op) : gpu::run_plain_attention(stream, op);
}

void run(device::CudaStream& stream, const AttentionBackward& op) {
    const bool uses_tensor_cores = suits_tensor_cores(
        op.shape, {op.query, op.key, op.value, op.grad_output, op.grad_query, op.grad_key, op.grad_value});
    uses_tensor_cores ? gpu::run_tensor_attention(stream, op) : gpu::run_plain_attention(stream, op);
}

}  // namespace trireme::kernels
