// Optimizer updates of all tensors of a step in one launch. A block updates a piece of one tensor.
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
constexpr unsigned update_turns = 4;  // vectors per thread
constexpr unsigned update_vectors = update_threads * update_turns;

// The operands of the update of one tensor, all in one shape. The struct has no padding, because
// GpuWork::tell() compares its bytes.
template <class T>
struct Updated {
    device::Elements<T> parameter;
    device::Elements<const T> gradient;
    device::Elements<T> moment1;             // or the velocity; null data if absent
    device::Elements<T> moment2;             // null data if absent
    device::Elements<device::Bf16> rounded;  // null data if absent
    const std::int32_t* decaying;            // null if absent
    gpu::Walk walk;
    double weight_decay;
    unsigned first_block;
    unsigned has_vectors;

    __device__ bool decays(std::size_t column) const { return decaying == nullptr || decaying[column] != 0; }

    template <unsigned width>
    __device__ void write(std::size_t row, std::size_t column, const Vector<T, width>& value) const {
        gpu::store(parameter, row, column, value);
        if (rounded.data != nullptr) gpu::store(rounded, row, column, gpu::converted<device::Bf16>(value));
    }
};

static_assert(sizeof(Updated<float>) == 5 * sizeof(device::Elements<float>) + sizeof(void*) +
                                            sizeof(gpu::Walk) + sizeof(double) + 2 * sizeof(unsigned));

// Returns the decay flags of each tensor in GPU memory. Those in host memory are sent as one list, because an
// operation may send at most two lists.
template <class Op>
std::vector<const std::int32_t*> decaying_of(device::CudaStream& stream, std::span<const Op> ops) {
    const auto is_told = [](const Op& op) {
        return op.decaying.is_present() && op.decaying.place != device::MemorySpace::gpu;
    };
    std::vector<std::int32_t> told;
    for (const Op& op : ops) {
        if (!is_told(op)) continue;
        const std::int32_t* const own = op.decaying.template as<std::int32_t>().data;
        told.insert(told.end(), own, own + op.decaying.columns);
    }
    const std::int32_t* next = told.empty() ? nullptr : stream.work->tell(std::span<const std::int32_t>(told));
    std::vector<const std::int32_t*> each;
    for (const Op& op : ops) {
        each.push_back(is_told(op) ? next : gpu::elements_or_none<std::int32_t>(op.decaying).data);
        if (is_told(op)) next += op.decaying.columns;
    }
    return each;
}

template <class T, class Op>
Updated<T> updated_of(const Op& op, const device::Tensor& moment1, const device::Tensor& moment2,
                      const std::int32_t* decaying) {
    const gpu::Walk walk = decaying != nullptr
                               ? gpu::Walk{op.parameter.rows, op.parameter.columns}
                               : gpu::Walk::through(op.parameter, op.gradient, moment1, moment2, op.rounded);
    Updated<T> of{.parameter = walk.elements_of<T>(op.parameter),
                  .gradient = walk.elements_of<T>(op.gradient),
                  .moment1 = walk.elements_of<T>(moment1),
                  .moment2 = walk.elements_of<T>(moment2),
                  .rounded = walk.elements_of<device::Bf16>(op.rounded),
                  .decaying = decaying,
                  .walk = walk,
                  .weight_decay = op.weight_decay,
                  .first_block = 0,
                  .has_vectors = 0};
    of.has_vectors = gpu::has_vectors<T>(of.parameter, of.gradient, of.moment1, of.moment2, of.rounded) ? 1 : 0;
    return of;
}

template <class T>
struct AdamWStep {
    AdamWFactors<T> f;
    double full_rate;

    __device__ T decay_of(double weight_decay) const { return static_cast<T>(1 - full_rate * weight_decay); }

    template <unsigned width>
    __device__ void at(const Updated<T>& of, T decay, std::size_t row, std::size_t column) const {
        const auto gradient = gpu::load<width>(of.gradient, row, column);
        auto parameter = gpu::load<width>(of.parameter, row, column);
        auto moment1 = gpu::load<width>(of.moment1, row, column);
        auto moment2 = gpu::load<width>(of.moment2, row, column);
        for (unsigned i = 0; i < width; ++i) {
            const T g = f.scale * gradient[i];
            const T m1 = f.beta1 * moment1[i] + f.rest1 * g;
            const T m2 = f.beta2 * moment2[i] + f.rest2 * g * g;
            moment1.set(i, m1);
            moment2.set(i, m2);
            parameter.set(i, (of.decays(column + i) ? decay : T{1}) * parameter[i] -
                                 f.rate * m1 / (std::sqrt(m2 * f.inv_correction2) + f.epsilon));
        }
        gpu::store(of.moment1, row, column, moment1);
        gpu::store(of.moment2, row, column, moment2);
        of.write(row, column, parameter);
    }
};

template <class T>
struct SgdStep {
    SgdFactors<T> f;

    __device__ T decay_of(double weight_decay) const { return static_cast<T>(weight_decay); }

    template <unsigned width>
    __device__ void at(const Updated<T>& of, T decay, std::size_t row, std::size_t column) const {
        auto change = gpu::load<width>(of.gradient, row, column);
        auto parameter = gpu::load<width>(of.parameter, row, column);
        for (unsigned i = 0; i < width; ++i)
            change.set(i, f.scale * change[i] + (of.decays(column + i) ? decay : T{0}) * parameter[i]);
        if (of.moment1.data != nullptr) {
            const auto velocity = gpu::load<width>(of.moment1, row, column);
            for (unsigned i = 0; i < width; ++i) change.set(i, change[i] + f.momentum * velocity[i]);
            gpu::store(of.moment1, row, column, change);
        }
        for (unsigned i = 0; i < width; ++i) parameter.set(i, parameter[i] - f.rate * change[i]);
        of.write(row, column, parameter);
    }
};

// Updates the block's vectors of a tensor. Avoids the division by the vectors per row if there is only one row.
template <unsigned width, class T, class Step>
__device__ void take_vectors(const Step& step, const Updated<T>& of) {
    const T decay = step.decay_of(of.weight_decay);
    const std::size_t of_row = of.walk.columns / width;
    const std::size_t first = std::size_t{blockIdx.x - of.first_block} * update_vectors + threadIdx.x;
    for (unsigned turn = 0; turn < update_turns; ++turn) {
        const std::size_t number = first + turn * update_threads;
        if (number >= of.walk.rows * of_row) return;
        const std::size_t row = of.walk.rows == 1 ? 0 : number / of_row;
        step.template at<width>(of, decay, row, (number - row * of_row) * width);
    }
}

template <class T, class Step>
__global__ void __launch_bounds__(update_threads)
    update_tensors(Step step, const Updated<T>* tensors, unsigned count) {
    const Updated<T> of = tensors[gpu::owner_of(tensors, count, blockIdx.x)];
    if (of.has_vectors != 0) return take_vectors<gpu::vector_width<T>>(step, of);
    take_vectors<1>(step, of);
}

template <class T, class Step>
void update(device::CudaStream& stream, const gpu::OwnedBlocks<Updated<T>>& tensors, const Step& step) {
    const std::span<const Updated<T>> owners(tensors.owners);
    gpu::start(stream, {.blocks_x = tensors.blocks, .threads = update_threads}, update_tensors<T, Step>, step,
               stream.work->tell(owners), static_cast<unsigned>(owners.size()));
}

template <class T>
void add(gpu::OwnedBlocks<Updated<T>>& tensors, const Updated<T>& of) {
    const unsigned width = of.has_vectors != 0 ? gpu::vector_width<T> : 1;
    tensors.add(of, gpu::parts(of.walk.rows * (of.walk.columns / width), update_vectors));
}

// Sums of squares: a thread adds vectors of 4 elements, and a block adds the sums of its threads, a chunk. A
// second kernel adds the chunks of each tensor. The mapping of elements to threads does not depend on the
// strides.
constexpr unsigned at_once = 4;
constexpr unsigned turns = 4;
constexpr unsigned chunk_threads = 256;
constexpr unsigned chunk = at_once * turns * chunk_threads;

// The operands of one sum of squares, without padding for the same reason as Updated.
template <class T>
struct Squared {
    device::Elements<const T> input;
    std::size_t size;
    double* result;
    unsigned first_block;
    unsigned has_vectors;  // if 0, read element by element

    __device__ void add(double& sum, T element) const {
        const auto x = static_cast<double>(element);
        sum += x * x;
    }
    __device__ void add_vector(double& sum, std::size_t first) const {
        if (has_vectors != 0 && first + at_once <= size) {
            const auto vector = gpu::load<at_once>(input.data + first);
            for (const T element : vector.elements) add(sum, element);
        } else {
            for (std::size_t e = first; e < first + at_once && e < size; ++e)
                add(sum, input(e / input.columns, e % input.columns));
        }
    }
};

static_assert(sizeof(Squared<float>) ==
              sizeof(device::Elements<float>) + sizeof(std::size_t) + sizeof(double*) + 2 * sizeof(unsigned));

template <class T>
__global__ void __launch_bounds__(chunk_threads)
    sum_chunks(const Squared<T>* tensors, unsigned count, double* sums) {
    const Squared<T> of = tensors[gpu::owner_of(tensors, count, blockIdx.x)];
    const std::size_t own = std::size_t{blockIdx.x - of.first_block} * chunk + threadIdx.x * at_once;
    double sum = 0;
    for (unsigned turn = 0; turn < turns; ++turn)
        of.add_vector(sum, own + std::size_t{turn} * chunk_threads * at_once);
    sum = gpu::block_sum(sum);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// One block per tensor.
template <class T>
__global__ void __launch_bounds__(chunk_threads)
    sum_tensors(const Squared<T>* tensors, unsigned chunks, const double* sums) {
    const unsigned end = blockIdx.x + 1 < gridDim.x ? tensors[blockIdx.x + 1].first_block : chunks;
    double sum = 0;
    for (unsigned i = tensors[blockIdx.x].first_block + threadIdx.x; i < end; i += chunk_threads)
        sum += sums[i];
    sum = gpu::block_sum(sum);
    if (threadIdx.x == 0) *tensors[blockIdx.x].result = sum;
}

template <class T>
Squared<T> squared_of(const SumOfSquares& op) {
    const gpu::Walk walk = gpu::Walk::through(op.input);
    const auto all = walk.elements_of<T>(op.input);
    const bool is_aligned = reinterpret_cast<std::uintptr_t>(all.data) % gpu::vector_bytes == 0;
    return {.input = all,
            .size = op.input.size(),
            .result = gpu::elements<double>(op.result).data,
            .first_block = 0,
            .has_vectors = is_aligned && walk.rows == 1 ? 1U : 0U};
}

}  // namespace

void run(device::CudaStream& stream, std::span<const AdamWUpdate> ops) {
    const std::vector<const std::int32_t*> decaying = decaying_of(stream, ops);
    visit_float(ops.front().parameter.dtype, [&]<class T>(T) {
        gpu::OwnedBlocks<Updated<T>> tensors;
        for (std::size_t i = 0; i < ops.size(); ++i)
            add(tensors, updated_of<T>(ops[i], ops[i].moment1, ops[i].moment2, decaying[i]));
        update(stream, tensors,
               AdamWStep<T>{.f = common_factors<AdamWFactors<T>>(ops), .full_rate = ops.front().rate});
    });
}

void run(device::CudaStream& stream, std::span<const SgdUpdate> ops) {
    const std::vector<const std::int32_t*> decaying = decaying_of(stream, ops);
    visit_float(ops.front().parameter.dtype, [&]<class T>(T) {
        gpu::OwnedBlocks<Updated<T>> tensors;
        for (std::size_t i = 0; i < ops.size(); ++i)
            add(tensors, updated_of<T>(ops[i], ops[i].velocity, {}, decaying[i]));
        update(stream, tensors, SgdStep<T>{.f = common_factors<SgdFactors<T>>(ops)});
    });
}

void run(device::CudaStream& stream, std::span<const SumOfSquares> ops) {
    gpu::visit_type(ops.front().input.dtype, [&]<class T>(T) {
        gpu::OwnedBlocks<Squared<T>> tensors;
        for (const SumOfSquares& op : ops) tensors.add(squared_of<T>(op), gpu::parts(op.input.size(), chunk));
        const auto count = static_cast<unsigned>(ops.size());
        const Squared<T>* const told = stream.work->tell(std::span<const Squared<T>>(tensors.owners));
        auto* const sums = reinterpret_cast<double*>(stream.work->scratch(tensors.blocks * sizeof(double)));
        gpu::start(stream, {.blocks_x = tensors.blocks, .threads = chunk_threads}, sum_chunks<T>, told, count,
                   sums);
        gpu::start(stream, {.blocks_x = count, .threads = chunk_threads}, sum_tensors<T>, told, tensors.blocks,
                   sums);
    });
}

}  // namespace trireme::kernels
