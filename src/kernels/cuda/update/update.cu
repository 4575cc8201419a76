// Optimizer updates of all tensors of a step in one launch. A block of threads updates a range of one tensor.
#include "kernels/cuda/support/block_owners.hpp"
#include "kernels/cuda/support/sums.cuh"
#include "kernels/cuda/support/vectors.cuh"
#include "kernels/cuda/support/walk.hpp"
#include "kernels/update_factors.hpp"
#include "trireme/kernels/update.hpp"

namespace trireme::kernels {
namespace {

using gpu::Vector;

constexpr unsigned update_threads = 256;
constexpr unsigned vectors_per_thread = 4;
constexpr unsigned vectors_per_block = update_threads * vectors_per_thread;

// The operands of the update of one tensor. The kernel treats the parameter, the gradient and the other
// operands as matrices of the shape `shape`. The struct has no padding bytes, because GpuStreamState::upload()
// compares structs byte by byte.
template <class T>
struct TensorUpdate {
    device::Elements<T> parameter;
    device::Elements<const T> gradient;
    device::Elements<T> moment1;                       // or the velocity; null data if absent
    device::Elements<T> moment2;                       // null data if absent
    device::Elements<device::Bf16> rounded_parameter;  // null data if absent
    // Per column, 0 if the column has no weight decay, else 1. Null if all columns have weight decay.
    const std::int32_t* decay_mask;
    gpu::CommonShape shape;
    double weight_decay;
    unsigned first_block;      // first block of threads of this tensor
    unsigned may_use_vectors;  // if 0, the tensors are read and written element by element

    __device__ bool has_decay(std::size_t column) const {
        return decay_mask == nullptr || decay_mask[column] != 0;
    }

    template <unsigned width>
    __device__ void write(std::size_t row, std::size_t column, const Vector<T, width>& value) const {
        gpu::store(parameter, row, column, value);
        if (rounded_parameter.data != nullptr)
            gpu::store(rounded_parameter, row, column, gpu::convert<device::Bf16>(value));
    }
};

static_assert(sizeof(TensorUpdate<float>) == 5 * sizeof(device::Elements<float>) + sizeof(void*) +
                                                 sizeof(gpu::CommonShape) + sizeof(double) +
                                                 2 * sizeof(unsigned));

// Returns one address per operation: the address in GPU memory of the operation's decay mask, or null if the
// operation has no mask. Masks in host memory are uploaded together as one list. A launch may upload
// two lists with GpuStreamState::upload(). This is the first one, and update() uploads the list of tensors.
template <class Op>
std::vector<const std::int32_t*> upload_decay_masks(device::CudaStream& stream, std::span<const Op> ops) {
    const auto is_on_host = [](const Op& op) {
        return op.decay_mask.is_present() && op.decay_mask.memory_space != device::MemorySpace::gpu;
    };
    std::vector<std::int32_t> host_flags;
    for (const Op& op : ops) {
        if (!is_on_host(op)) continue;
        const std::int32_t* const flags = op.decay_mask.template as<std::int32_t>().data;
        host_flags.insert(host_flags.end(), flags, flags + op.decay_mask.columns);
    }
    const std::int32_t* next_flags =
        host_flags.empty() ? nullptr : stream.work->upload(std::span<const std::int32_t>(host_flags));
    std::vector<const std::int32_t*> masks;
    for (const Op& op : ops) {
        masks.push_back(is_on_host(op) ? next_flags
                                       : gpu::get_elements_or_none<std::int32_t>(op.decay_mask).data);
        if (is_on_host(op)) next_flags += op.decay_mask.columns;
    }
    return masks;
}

template <class T, class Op>
TensorUpdate<T> make_tensor_update(const Op& op, const device::Tensor& moment1, const device::Tensor& moment2,
                                   const std::int32_t* decay_mask) {
    const gpu::CommonShape shape =
        decay_mask != nullptr
            ? gpu::CommonShape{op.parameter.rows, op.parameter.columns}
            : gpu::CommonShape::find(op.parameter, op.gradient, moment1, moment2, op.rounded_parameter);
    TensorUpdate<T> tensor{.parameter = shape.make_elements<T>(op.parameter),
                           .gradient = shape.make_elements<T>(op.gradient),
                           .moment1 = shape.make_elements<T>(moment1),
                           .moment2 = shape.make_elements<T>(moment2),
                           .rounded_parameter = shape.make_elements<device::Bf16>(op.rounded_parameter),
                           .decay_mask = decay_mask,
                           .shape = shape,
                           .weight_decay = op.weight_decay,
                           .first_block = 0,
                           .may_use_vectors = 0};
    tensor.may_use_vectors = gpu::may_use_vectors<T>(tensor.parameter, tensor.gradient, tensor.moment1,
                                                     tensor.moment2, tensor.rounded_parameter)
                                 ? 1
                                 : 0;
    return tensor;
}

template <class T>
struct AdamWStep {
    AdamWFactors<T> f;
    double learning_rate;

    // Returns the factor by which decoupled weight decay multiplies the parameter.
    __device__ T decay_factor(double weight_decay) const {
        return static_cast<T>(1 - learning_rate * weight_decay);
    }

    template <unsigned width>
    __device__ void process(const TensorUpdate<T>& tensor, T decay, std::size_t row, std::size_t column) const {
        const auto gradient = gpu::load<width>(tensor.gradient, row, column);
        auto parameter = gpu::load<width>(tensor.parameter, row, column);
        auto moment1 = gpu::load<width>(tensor.moment1, row, column);
        auto moment2 = gpu::load<width>(tensor.moment2, row, column);
        for (unsigned i = 0; i < width; ++i) {
            const T g = f.scale * gradient[i];
            const T m1 = f.beta1 * moment1[i] + f.one_minus_beta1 * g;
            const T m2 = f.beta2 * moment2[i] + f.one_minus_beta2 * g * g;
            moment1.set(i, m1);
            moment2.set(i, m2);
            parameter.set(i, (tensor.has_decay(column + i) ? decay : T{1}) * parameter[i] -
                                 f.corrected_rate * m1 / (std::sqrt(m2 * f.inv_correction2) + f.epsilon));
        }
        gpu::store(tensor.moment1, row, column, moment1);
        gpu::store(tensor.moment2, row, column, moment2);
        tensor.write(row, column, parameter);
    }
};

template <class T>
struct SgdStep {
    SgdFactors<T> f;

    // Returns the factor of L2 decay. L2 decay adds the factor times the parameter to the gradient.
    __device__ T decay_factor(double weight_decay) const { return static_cast<T>(weight_decay); }

    template <unsigned width>
    __device__ void process(const TensorUpdate<T>& tensor, T decay, std::size_t row, std::size_t column) const {
        auto change = gpu::load<width>(tensor.gradient, row, column);
        auto parameter = gpu::load<width>(tensor.parameter, row, column);
        for (unsigned i = 0; i < width; ++i)
            change.set(i, f.scale * change[i] + (tensor.has_decay(column + i) ? decay : T{0}) * parameter[i]);
        if (tensor.moment1.data != nullptr) {
            const auto velocity = gpu::load<width>(tensor.moment1, row, column);
            for (unsigned i = 0; i < width; ++i) change.set(i, change[i] + f.momentum * velocity[i]);
            gpu::store(tensor.moment1, row, column, change);
        }
        for (unsigned i = 0; i < width; ++i) parameter.set(i, parameter[i] - f.rate * change[i]);
        tensor.write(row, column, parameter);
    }
};

// Updates the vectors of this block of threads. If the tensor has only one row, avoids the division by the
// number of vectors per row.
template <unsigned width, class T, class Step>
__device__ void process_vectors(const Step& step, const TensorUpdate<T>& tensor) {
    const T decay = step.decay_factor(tensor.weight_decay);
    const std::size_t vectors_per_row = tensor.shape.columns / width;
    const std::size_t first = std::size_t{blockIdx.x - tensor.first_block} * vectors_per_block + threadIdx.x;
    for (unsigned iteration = 0; iteration < vectors_per_thread; ++iteration) {
        const std::size_t vector_index = first + iteration * update_threads;
        if (vector_index >= tensor.shape.rows * vectors_per_row) return;
        const std::size_t row = tensor.shape.rows == 1 ? 0 : vector_index / vectors_per_row;
        step.template process<width>(tensor, decay, row, (vector_index - row * vectors_per_row) * width);
    }
}

template <class T, class Step>
__global__ void __launch_bounds__(update_threads)
    update_tensors(Step step, const TensorUpdate<T>* tensors, unsigned count) {
    const TensorUpdate<T> tensor = tensors[gpu::find_owner(tensors, count, blockIdx.x)];
    if (tensor.may_use_vectors != 0) return process_vectors<gpu::vector_width<T>>(step, tensor);
    process_vectors<1>(step, tensor);
}

template <class T, class Step>
void update(device::CudaStream& stream, const gpu::OwnedBlocks<TensorUpdate<T>>& tensors, const Step& step) {
    const std::span<const TensorUpdate<T>> owners(tensors.owners);
    gpu::launch_kernel(stream, {.blocks_x = tensors.blocks, .threads = update_threads}, update_tensors<T, Step>,
                       step, stream.work->upload(owners), static_cast<unsigned>(owners.size()));
}

template <class T>
void add(gpu::OwnedBlocks<TensorUpdate<T>>& tensors, const TensorUpdate<T>& tensor) {
    const unsigned width = tensor.may_use_vectors != 0 ? gpu::vector_width<T> : 1;
    tensors.add(tensor,
                gpu::divide_round_up(tensor.shape.rows * (tensor.shape.columns / width), vectors_per_block));
}

// Sums of squares: a thread sums the squares in several vectors of 4 elements, and a block adds the sums of its
// threads. A chunk is the elements that one block sums. A second kernel adds the sums of the chunks of each
// tensor. The mapping of elements to threads does not depend on the strides.
constexpr unsigned vector_elements = 4;
constexpr unsigned vectors_per_chunk_thread = 4;
constexpr unsigned chunk_threads = 256;
constexpr unsigned chunk_elements = vector_elements * vectors_per_chunk_thread * chunk_threads;

// The operands of one sum of squares. The struct has no padding bytes, for the same reason as TensorUpdate.
template <class T>
struct TensorSquares {
    device::Elements<const T> input;
    std::size_t size;
    double* result;
    unsigned first_block;      // first block of threads of this tensor
    unsigned may_use_vectors;  // if 0, the tensor is read element by element

    __device__ void add(double& sum, T element) const {
        const auto x = static_cast<double>(element);
        sum += x * x;
    }
    __device__ void add_vector(double& sum, std::size_t first) const {
        if (may_use_vectors != 0 && first + vector_elements <= size) {
            const auto vector = gpu::load<vector_elements>(input.data + first);
            for (const T element : vector.elements) add(sum, element);
        } else {
            for (std::size_t e = first; e < first + vector_elements && e < size; ++e)
                add(sum, input(e / input.columns, e % input.columns));
        }
    }
};

static_assert(sizeof(TensorSquares<float>) ==
              sizeof(device::Elements<float>) + sizeof(std::size_t) + sizeof(double*) + 2 * sizeof(unsigned));

template <class T>
__global__ void __launch_bounds__(chunk_threads)
    sum_chunks(const TensorSquares<T>* tensors, unsigned count, double* sums) {
    const TensorSquares<T> tensor = tensors[gpu::find_owner(tensors, count, blockIdx.x)];
    const std::size_t first_element =
        std::size_t{blockIdx.x - tensor.first_block} * chunk_elements + threadIdx.x * vector_elements;
    double sum = 0;
    for (unsigned iteration = 0; iteration < vectors_per_chunk_thread; ++iteration)
        tensor.add_vector(sum, first_element + std::size_t{iteration} * chunk_threads * vector_elements);
    sum = gpu::sum_over_block(sum);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// One block of threads per tensor. `chunks` is the total number of chunks of all tensors.
template <class T>
__global__ void __launch_bounds__(chunk_threads)
    sum_tensors(const TensorSquares<T>* tensors, unsigned chunks, const double* sums) {
    const unsigned end = blockIdx.x + 1 < gridDim.x ? tensors[blockIdx.x + 1].first_block : chunks;
    double sum = 0;
    for (unsigned i = tensors[blockIdx.x].first_block + threadIdx.x; i < end; i += chunk_threads)
        sum += sums[i];
    sum = gpu::sum_over_block(sum);
    if (threadIdx.x == 0) *tensors[blockIdx.x].result = sum;
}

template <class T>
TensorSquares<T> make_tensor_squares(const SumOfSquares& op) {
    const gpu::CommonShape shape = gpu::CommonShape::find(op.input);
    const auto all = shape.make_elements<T>(op.input);
    const bool is_aligned = reinterpret_cast<std::uintptr_t>(all.data) % gpu::vector_bytes == 0;
    return {.input = all,
            .size = op.input.size(),
            .result = gpu::get_elements<double>(op.result).data,
            .first_block = 0,
            .may_use_vectors = is_aligned && shape.rows == 1 ? 1U : 0U};
}

}  // namespace

void run(device::CudaStream& stream, std::span<const AdamWUpdate> ops) {
    const std::vector<const std::int32_t*> decay_masks = upload_decay_masks(stream, ops);
    visit_float(ops.front().parameter.dtype, [&]<class T>(T) {
        gpu::OwnedBlocks<TensorUpdate<T>> tensors;
        for (std::size_t i = 0; i < ops.size(); ++i)
            add(tensors, make_tensor_update<T>(ops[i], ops[i].moment1, ops[i].moment2, decay_masks[i]));
        update(stream, tensors,
               AdamWStep<T>{.f = find_common_factors<AdamWFactors<T>>(ops), .learning_rate = ops.front().rate});
    });
}

void run(device::CudaStream& stream, std::span<const SgdUpdate> ops) {
    const std::vector<const std::int32_t*> decay_masks = upload_decay_masks(stream, ops);
    visit_float(ops.front().parameter.dtype, [&]<class T>(T) {
        gpu::OwnedBlocks<TensorUpdate<T>> tensors;
        for (std::size_t i = 0; i < ops.size(); ++i)
            add(tensors, make_tensor_update<T>(ops[i], ops[i].velocity, {}, decay_masks[i]));
        update(stream, tensors, SgdStep<T>{.f = find_common_factors<SgdFactors<T>>(ops)});
    });
}

void run(device::CudaStream& stream, std::span<const SumOfSquares> ops) {
    gpu::visit_type(ops.front().input.dtype, [&]<class T>(T) {
        gpu::OwnedBlocks<TensorSquares<T>> tensors;
        for (const SumOfSquares& op : ops)
            tensors.add(make_tensor_squares<T>(op), gpu::divide_round_up(op.input.size(), chunk_elements));
        const auto count = static_cast<unsigned>(ops.size());
        const TensorSquares<T>* const gpu_tensors =
            stream.work->upload(std::span<const TensorSquares<T>>(tensors.owners));
        auto* const sums = reinterpret_cast<double*>(stream.work->get_scratch(tensors.blocks * sizeof(double)));
        gpu::launch_kernel(stream, {.blocks_x = tensors.blocks, .threads = chunk_threads}, sum_chunks<T>,
                           gpu_tensors, count, sums);
        gpu::launch_kernel(stream, {.blocks_x = count, .threads = chunk_threads}, sum_tensors<T>, gpu_tensors,
                           tensors.blocks, sums);
    });
}

}  // namespace trireme::kernels
