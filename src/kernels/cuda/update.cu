// What an optimizer does to one tensor: a thread a pack of its elements.
#include "kernels/cuda/packs.cuh"
#include "kernels/cuda/sums.cuh"
#include "kernels/update_factors.hpp"
#include "trireme/kernels/update.hpp"

namespace trireme {
namespace {

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

    template <unsigned count>
    __device__ void write(std::size_t r, std::size_t c, const gpu::Pack<T, count>& value) const {
        gpu::pack_at<count>(parameter.row(r) + c) = value;
        if (rounded.data == nullptr) return;
        gpu::Pack<Bf16, count> less;
        for (unsigned k = 0; k < count; ++k) less.of[k] = gpu::number_as<Bf16>(value.of[k]);
        gpu::pack_at<count>(rounded.row(r) + c) = less;
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

template <class T, unsigned n>
struct AdamWStep {
    static constexpr unsigned count = n;

    Operands<T> of;
    AdamWFactors<T> f;

    __device__ void operator()(std::size_t r, std::size_t c) const {
        const gpu::Pack<T, n> gradient = gpu::pack_at<n>(of.gradient.row(r) + c);
        gpu::Pack<T, n> parameter = gpu::pack_at<n>(of.parameter.row(r) + c);
        gpu::Pack<T, n> moment1 = gpu::pack_at<n>(of.moment1.row(r) + c);
        gpu::Pack<T, n> moment2 = gpu::pack_at<n>(of.moment2.row(r) + c);
        for (unsigned k = 0; k < n; ++k) {
            const T g = f.scale * gradient.of[k];
            const T m1 = f.beta1 * moment1.of[k] + f.rest1 * g;
            const T m2 = f.beta2 * moment2.of[k] + f.rest2 * g * g;
            const T decay = of.decays(c + k) ? f.decay : T{1};
            moment1.of[k] = m1;
            moment2.of[k] = m2;
            parameter.of[k] =
                decay * parameter.of[k] - f.rate * m1 / (std::sqrt(m2 * f.inv_correction2) + f.epsilon);
        }
        gpu::pack_at<n>(of.moment1.row(r) + c) = moment1;
        gpu::pack_at<n>(of.moment2.row(r) + c) = moment2;
        of.write(r, c, parameter);
    }
};

template <class T, unsigned n>
struct SgdStep {
    static constexpr unsigned count = n;

    Operands<T> of;
    SgdFactors<T> f;

    __device__ void operator()(std::size_t r, std::size_t c) const {
        gpu::Pack<T, n> change = gpu::pack_at<n>(of.gradient.row(r) + c);
        gpu::Pack<T, n> parameter = gpu::pack_at<n>(of.parameter.row(r) + c);
        for (unsigned k = 0; k < n; ++k)
            change.of[k] = f.scale * change.of[k] + (of.decays(c + k) ? f.decay : T{0}) * parameter.of[k];
        if (of.moment1.data != nullptr) {
            gpu::Pack<T, n>& velocity = gpu::pack_at<n>(of.moment1.row(r) + c);
            const gpu::Pack<T, n> before = velocity;
            for (unsigned k = 0; k < n; ++k) change.of[k] += f.momentum * before.of[k];
            velocity = change;
        }
        for (unsigned k = 0; k < n; ++k) parameter.of[k] -= f.rate * change.of[k];
        of.write(r, c, parameter);
    }
};

// `Step` of as many elements at once as the operands allow.
template <template <class, unsigned> class Step, class T, class Factors>
void update(CudaStream& stream, const Operands<T>& of, const Factors& factors) {
    gpu::with_packs<gpu::numbers_at_once<T>>(
        [&]<unsigned n>(std::integral_constant<unsigned, n>) {
            gpu::for_each_pack(stream, of.walk.rows, of.walk.columns, Step<T, n>{of, factors});
        },
        of.parameter, of.gradient, of.moment1, of.moment2, of.rounded);
}

// Sums of squares: a thread adds packs of 4 elements, a block those of a chunk, one block the chunks. Which
// thread has which element does not depend on how a tensor lies.
constexpr unsigned at_once = 4;
constexpr unsigned turns = 4;
constexpr unsigned chunk_threads = 256;
constexpr unsigned last_threads = 1024;
constexpr std::size_t chunk = std::size_t{at_once} * turns * chunk_threads;

template <class T>
struct Squares {
    Elements<const T> input;
    std::size_t size;
    bool is_in_packs;  // or else to be read element by element

    __device__ void add(double& sum, T element) const {
        const auto x = static_cast<double>(element);
        sum += x * x;
    }
    __device__ void add_pack(double& sum, std::size_t first) const {
        if (is_in_packs && first + at_once <= size) {
            const gpu::Pack<T, at_once> pack = gpu::pack_at<at_once>(input.data + first);
            for (unsigned k = 0; k < at_once; ++k) add(sum, pack.of[k]);
        } else {
            for (std::size_t e = first; e < first + at_once && e < size; ++e)
                add(sum, input(e / input.columns, e % input.columns));
        }
    }
};

template <class T>
__global__ void __launch_bounds__(chunk_threads) sum_chunks(Squares<T> squares, double* sums) {
    const std::size_t own = blockIdx.x * chunk + threadIdx.x * at_once;
    double sum = 0;
    for (unsigned turn = 0; turn < turns; ++turn)
        squares.add_pack(sum, own + std::size_t{turn} * chunk_threads * at_once);
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
    const bool is_aligned = reinterpret_cast<std::uintptr_t>(all.data) % gpu::widest_access == 0;
    return {.input = all, .size = input.size(), .is_in_packs = is_aligned && walk.rows == 1};
}

}  // namespace

void run(CudaStream& stream, const AdamWUpdate& op) {
    visit_float(op.parameter.dtype, [&]<class T>(T) {
        update<AdamWStep>(stream, operands_of<T>(stream, op, op.moment1, op.moment2), AdamWFactors<T>(op));
    });
}

void run(CudaStream& stream, const SgdUpdate& op) {
    visit_float(op.parameter.dtype, [&]<class T>(T) {
        update<SgdStep>(stream, operands_of<T>(stream, op, op.velocity, {}), SgdFactors<T>(op));
    });
}

void run(CudaStream& stream, const SumOfSquares& op) {
    double* const result = gpu::elements<double>(op.result).data;
    const unsigned chunks = gpu::checked_count(gpu::parts(op.input.size(), chunk));
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
