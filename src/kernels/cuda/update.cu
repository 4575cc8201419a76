// What an optimizer does to one tensor: a thread a vector of its elements.
#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/sums.cuh"
#include "kernels/cuda/walk.hpp"
#include "kernels/update_factors.hpp"
#include "trireme/kernels/update.hpp"

namespace trireme {
namespace {

using gpu::Vector;

// What an update reads and writes, all in one shape.
template <class T>
struct Operands {
    Elements<T> parameter;
    Elements<const T> gradient;
    Elements<T> moment1;           // or the velocity; without data where there is none
    Elements<T> moment2;           // likewise
    Elements<Bf16> rounded;        // likewise
    const std::int32_t* decaying;  // likewise
    gpu::Walk walk;

    __device__ bool decays(std::size_t column) const { return decaying == nullptr || decaying[column] != 0; }

    template <unsigned width>
    __device__ void write(std::size_t row, std::size_t column, const Vector<T, width>& value) const {
        gpu::store(parameter, row, column, value);
        if (rounded.data != nullptr) gpu::store(rounded, row, column, gpu::converted<Bf16>(value));
    }
};

template <class T, class Op>
Operands<T> operands_of(CudaStream& stream, const Op& op, const Tensor& moment1, const Tensor& moment2) {
    const gpu::Walk walk = op.decaying.is_present()
                               ? gpu::Walk{op.parameter.rows, op.parameter.columns}
                               : gpu::Walk::through(op.parameter, op.gradient, moment1, moment2, op.rounded);
    return {.parameter = walk.elements_of<T>(op.parameter),
            .gradient = walk.elements_of<T>(op.gradient),
            .moment1 = walk.elements_of<T>(moment1),
            .moment2 = walk.elements_of<T>(moment2),
            .rounded = walk.elements_of<Bf16>(op.rounded),
            .decaying = gpu::names(stream, op.decaying),
            .walk = walk};
}

template <class T>
struct AdamWStep {
    Operands<T> of;
    AdamWFactors<T> f;

    template <unsigned width>
    __device__ void at(std::size_t row, std::size_t column) const {
        const auto gradient = gpu::load<width>(of.gradient, row, column);
        auto parameter = gpu::load<width>(of.parameter, row, column);
        auto moment1 = gpu::load<width>(of.moment1, row, column);
        auto moment2 = gpu::load<width>(of.moment2, row, column);
        for (unsigned i = 0; i < width; ++i) {
            const T g = f.scale * gradient[i];
            const T m1 = f.beta1 * moment1[i] + f.rest1 * g;
            const T m2 = f.beta2 * moment2[i] + f.rest2 * g * g;
            const T decay = of.decays(column + i) ? f.decay : T{1};
            moment1.set(i, m1);
            moment2.set(i, m2);
            parameter.set(i,
                          decay * parameter[i] - f.rate * m1 / (std::sqrt(m2 * f.inv_correction2) + f.epsilon));
        }
        gpu::store(of.moment1, row, column, moment1);
        gpu::store(of.moment2, row, column, moment2);
        of.write(row, column, parameter);
    }
};

template <class T>
struct SgdStep {
    Operands<T> of;
    SgdFactors<T> f;

    template <unsigned width>
    __device__ void at(std::size_t row, std::size_t column) const {
        auto change = gpu::load<width>(of.gradient, row, column);
        auto parameter = gpu::load<width>(of.parameter, row, column);
        for (unsigned i = 0; i < width; ++i)
            change.set(i, f.scale * change[i] + (of.decays(column + i) ? f.decay : T{0}) * parameter[i]);
        if (of.moment1.data != nullptr) {
            const auto velocity = gpu::load<width>(of.moment1, row, column);
            for (unsigned i = 0; i < width; ++i) change.set(i, change[i] + f.momentum * velocity[i]);
            gpu::store(of.moment1, row, column, change);
        }
        for (unsigned i = 0; i < width; ++i) parameter.set(i, parameter[i] - f.rate * change[i]);
        of.write(row, column, parameter);
    }
};

template <class T, class Step>
void update(CudaStream& stream, const Operands<T>& of, const Step& step) {
    const bool has_vectors = gpu::has_vectors<T>(of.parameter, of.gradient, of.moment1, of.moment2, of.rounded);
    gpu::for_each_vector<T>(stream, of.walk.rows, of.walk.columns, has_vectors, step);
}

// Sums of squares: a thread adds vectors of 4 elements, a block those of a chunk, one block the chunks. Which
// thread has which element does not depend on how a tensor lies.
constexpr unsigned at_once = 4;
constexpr unsigned turns = 4;
constexpr unsigned chunk_threads = 256;
constexpr unsigned last_threads = 1024;
constexpr unsigned chunk = at_once * turns * chunk_threads;

template <class T>
struct Squares {
    Elements<const T> input;
    std::size_t size;
    bool has_vectors;  // or else to be read element by element

    __device__ void add(double& sum, T element) const {
        const auto x = static_cast<double>(element);
        sum += x * x;
    }
    __device__ void add_vector(double& sum, std::size_t first) const {
        if (has_vectors && first + at_once <= size) {
            const auto vector = gpu::load<at_once>(input.data + first);
            for (const T element : vector.elements) add(sum, element);
        } else {
            for (std::size_t e = first; e < first + at_once && e < size; ++e)
                add(sum, input(e / input.columns, e % input.columns));
        }
    }
};

template <class T>
__global__ void __launch_bounds__(chunk_threads) sum_chunks(Squares<T> squares, double* sums) {
    const std::size_t own = std::size_t{blockIdx.x} * chunk + threadIdx.x * at_once;
    double sum = 0;
    for (unsigned turn = 0; turn < turns; ++turn)
        squares.add_vector(sum, own + std::size_t{turn} * chunk_threads * at_once);
    sum = gpu::block_sum(sum);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(last_threads)
    sum_all(const double* sums, std::size_t chunks, double* result) {
    double sum = 0;
    for (std::size_t i = threadIdx.x; i < chunks; i += blockDim.x) sum += sums[i];
    sum = gpu::block_sum(sum);
    if (threadIdx.x == 0) *result = sum;
}

template <class T>
Squares<T> squares_of(const ConstTensor& input) {
    const gpu::Walk walk = gpu::Walk::through(input);
    const auto all = walk.elements_of<T>(input);
    const bool is_aligned = reinterpret_cast<std::uintptr_t>(all.data) % gpu::vector_bytes == 0;
    return {.input = all, .size = input.size(), .has_vectors = is_aligned && walk.rows == 1};
}

}  // namespace

void run(CudaStream& stream, const AdamWUpdate& op) {
    visit_float(op.parameter.dtype, [&]<class T>(T) {
        const Operands<T> of = operands_of<T>(stream, op, op.moment1, op.moment2);
        update(stream, of, AdamWStep<T>{of, AdamWFactors<T>(op)});
    });
}

void run(CudaStream& stream, const SgdUpdate& op) {
    visit_float(op.parameter.dtype, [&]<class T>(T) {
        const Operands<T> of = operands_of<T>(stream, op, op.velocity, {});
        update(stream, of, SgdStep<T>{of, SgdFactors<T>(op)});
    });
}

void run(CudaStream& stream, const SumOfSquares& op) {
    double* const result = gpu::elements<double>(op.result).data;
    const unsigned chunks = gpu::blocks_for(op.input.size(), chunk);
    double* const sums =
        chunks == 1 ? result : reinterpret_cast<double*>(stream.work->scratch(chunks * sizeof(double)));
    gpu::visit_type(op.input.dtype, [&]<class T>(T) {
        gpu::start(stream, {.blocks_x = chunks, .threads = chunk_threads}, sum_chunks<T>,
                   squares_of<T>(op.input), sums);
    });
    if (chunks == 1) return;
    gpu::start(stream, {.threads = last_threads}, sum_all, sums, chunks, result);
}

}  // namespace trireme
