#include <initializer_list>

#include "kernels/cuda/attention/attention_call.cuh"
#include "kernels/cuda/attention/attention_paths.hpp"
#include "kernels/cuda/support/sums.cuh"

namespace trireme::kernels {
namespace gpu {
namespace {

constexpr unsigned fact_threads = 256;

template <class T>
struct Facts {
    device::Elements<const T> output;         // (rows, heads * head size)
    device::Elements<const T> grad_output;    // (rows, heads * head size)
    device::Elements<const Wide<T>> log_sum;  // (rows, heads)
    unsigned heads, head_size;
    Wide<T> log_factor;
    QueryFacts<Wide<T>>* facts;  // (heads, rows)
};

// One warp per query and head.
template <class T>
__global__ void __launch_bounds__(fact_threads) find_facts(Facts<T> op) {
    using W = Wide<T>;
    const std::size_t number = (std::size_t{blockIdx.x} * fact_threads + threadIdx.x) / warp_size;
    const std::size_t row = number / op.heads;
    const auto head = static_cast<unsigned>(number % op.heads);
    if (row >= op.output.rows) return;
    const unsigned lane = threadIdx.x % warp_size;
    const T* const output = op.output.row(row) + std::size_t{head} * op.head_size;
    const T* const grad = op.grad_output.row(row) + std::size_t{head} * op.head_size;
    W sum = 0;
    for (unsigned c = lane; c < op.head_size; c += warp_size)
        sum += static_cast<W>(output[c]) * static_cast<W>(grad[c]);
    const W delta = warp_sum(sum);
    if (lane == 0) op.facts[head * op.output.rows + row] = {op.log_factor * op.log_sum(row, head), delta};
}

}  // namespace

template <class T>
const QueryFacts<Wide<T>>* find_query_facts(device::CudaStream& stream, const AttentionBackward& op,
                                            Wide<T> log_factor) {
    using Fact = QueryFacts<Wide<T>>;
    const std::size_t pairs = op.query.rows * op.shape.heads;
    const Facts<T> facts{.output = elements<T>(op.output),
                         .grad_output = elements<T>(op.grad_output),
                         .log_sum = elements<Wide<T>>(op.log_sum),
                         .heads = static_cast<unsigned>(op.shape.heads),
                         .head_size = static_cast<unsigned>(op.query.columns / op.shape.heads),
                         .log_factor = log_factor,
                         .facts = reinterpret_cast<Fact*>(stream.work->scratch(pairs * sizeof(Fact)))};
    const unsigned blocks = blocks_for(pairs, fact_threads / warp_size);
    start(stream, {.blocks_x = blocks, .threads = fact_threads}, find_facts<T>, facts);
    return facts.facts;
}

template const QueryFacts<double>* find_query_facts<double>(device::CudaStream&, const AttentionBackward&,
                                                            double);
template const QueryFacts<float>* find_query_facts<float>(device::CudaStream&, const AttentionBackward&, float);
template const QueryFacts<float>* find_query_facts<device::Bf16>(device::CudaStream&, const AttentionBackward&,
                                                                 float);

}  // namespace gpu

namespace {

bool is_on_chunks(const device::ConstTensor& tensor) {
    constexpr std::size_t chunk_bytes = 16;
    return reinterpret_cast<std::uintptr_t>(tensor.data) % chunk_bytes == 0 &&
           (tensor.rows <= 1 || tensor.stride * bytes_of(tensor.dtype) % chunk_bytes == 0);
}

// The scale must be positive: a negative one would turn the largest dot product into the smallest score.
bool suits_tensor_cores(const AttentionShape& shape, std::initializer_list<device::ConstTensor> tensors) {
    const device::ConstTensor& query = *tensors.begin();
    const std::size_t head_size = query.columns / shape.heads;
    return query.dtype == device::DType::bf16 && head_size > 0 && head_size % 8 == 0 && head_size <= 128 &&
           shape.scale > 0 && std::ranges::all_of(tensors, is_on_chunks);
}

}  // namespace

void run(device::CudaStream& stream, const Attention& op) {
    const bool is_suited = suits_tensor_cores(op.shape, {op.query, op.key, op.value, op.output});
    is_suited ? gpu::attend_on_tensor_cores(stream, op) : gpu::attend_plainly(stream, op);
}

void run(device::CudaStream& stream, const AttentionBackward& op) {
    const bool is_suited = suits_tensor_cores(
        op.shape, {op.query, op.key, op.value, op.grad_output, op.grad_query, op.grad_key, op.grad_value});
    is_suited ? gpu::attend_on_tensor_cores(stream, op) : gpu::attend_plainly(stream, op);
}

}  // namespace trireme::kernels
