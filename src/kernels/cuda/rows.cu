// A thread a pack of elements.
#include "kernels/cuda/column_sums.cuh"
#include "kernels/cuda/packs.cuh"
#include "kernels/cuda/sources.cuh"
#include "kernels/unnamed.hpp"
#include "trireme/kernels/rows.hpp"

namespace trireme {
namespace {

using gpu::Source;
using gpu::Wide;

template <class T, unsigned n>
struct TakeRows {
    static constexpr unsigned count = n;

    Elements<const T> input;
    const std::int32_t* rows;
    Elements<T> output;

    __device__ void operator()(std::size_t r, std::size_t c) const {
        const auto row = static_cast<std::size_t>(rows[r]);
        gpu::pack_at<n>(output.row(r) + c) = gpu::pack_at<n>(input.row(row) + c);
    }
};

template <class T, unsigned n>
struct PutRows {
    static constexpr unsigned count = n;

    Elements<const T> input;
    const std::int32_t* rows;
    Elements<T> output;
    bool accumulate;

    __device__ void operator()(std::size_t r, std::size_t c) const {
        const auto row = static_cast<std::size_t>(rows[r]);
        gpu::write_pack<n>(output.row(row) + c, gpu::pack_at<n>(input.row(r) + c), accumulate);
    }
};

// Every row of the output, named or not.
template <class T, unsigned n>
struct PutAllRows {
    static constexpr unsigned count = n;

    Elements<const T> input;
    const Source* sources;
    const T* other;  // row, for those that are not named; none: zeros
    Elements<T> output;
    bool accumulate;

    __device__ void operator()(std::size_t r, std::size_t c) const {
        const Source source = sources[r];
        const T* const from = source == 0 ? other : input.row(source - 1);
        const gpu::Pack<T, n> value = from == nullptr ? gpu::Pack<T, n>{} : gpu::pack_at<n>(from + c);
        gpu::write_pack<n>(output.row(r) + c, value, accumulate);
    }
};

template <class T>
__global__ void __launch_bounds__(gpu::column_threads)
    divide_runs(const Wide<T>* partial, std::size_t runs, std::size_t columns, std::size_t rows, T* mean) {
    const std::size_t column = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (column >= columns) return;
    Wide<T> sum = 0;
    for (std::size_t run = 0; run < runs; ++run) sum += partial[run * columns + column];
    mean[column] = static_cast<T>(sum / static_cast<Wide<T>>(rows));
}

// Memory for a scatter that writes all rows.
template <class T>
struct Scratch {
    explicit Scratch(CudaStream& stream, const ScatterRows& op)
        : runs(op.unnamed == Unnamed::mean ? gpu::parts(op.input.rows, gpu::rows_of_run) : 0) {
        const std::size_t source_bytes = padded(op.output.rows * sizeof(Source));
        const std::size_t mean_bytes = padded(op.input.columns * sizeof(T));
        const std::size_t partial_bytes = runs * op.input.columns * sizeof(Wide<T>);
        sources = stream.work->scratch(source_bytes + mean_bytes + partial_bytes);
        mean = reinterpret_cast<T*>(sources + source_bytes);
        partial = reinterpret_cast<Wide<T>*>(sources + source_bytes + mean_bytes);
    }
    static std::size_t padded(std::size_t bytes) {
        return gpu::parts(bytes, gpu::widest_access) * gpu::widest_access;
    }

    std::size_t runs;
    std::byte* sources;
    T* mean;           // (columns)
    Wide<T>* partial;  // (runs, columns)
};

// The mean of the rows that are named, column by column.
template <class T>
const T* mean_row(CudaStream& stream, const Elements<const T>& input, const Scratch<T>& scratch) {
    const auto blocks = static_cast<unsigned>(gpu::parts(input.columns, gpu::column_threads));
    const auto runs = static_cast<unsigned>(scratch.runs);
    gpu::start(stream, {.blocks_x = blocks, .blocks_y = runs, .threads = gpu::column_threads},
               gpu::sum_runs<Wide<T>, gpu::Element<T>>, gpu::Element<T>{input}, input.rows, input.columns,
               scratch.partial);
    gpu::start(stream, {.blocks_x = blocks, .threads = gpu::column_threads}, divide_runs<T>, scratch.partial,
               scratch.runs, input.columns, input.rows, scratch.mean);
    return scratch.mean;
}

template <class T>
void scatter_named(CudaStream& stream, const ScatterRows& op) {
    const auto input = gpu::elements<T>(op.input);
    const auto output = gpu::elements<T>(op.output);
    const std::int32_t* const rows = gpu::names(stream, op.rows);
    gpu::with_packs<gpu::numbers_at_once<T>>(
        [&]<unsigned n>(std::integral_constant<unsigned, n>) {
            gpu::for_each_pack(stream, input.rows, input.columns,
                               PutRows<T, n>{input, rows, output, op.accumulate});
        },
        input, output);
}

template <class T>
void scatter_all(CudaStream& stream, const ScatterRows& op) {
    const auto input = gpu::elements<T>(op.input);
    const auto output = gpu::elements<T>(op.output);
    const Scratch<T> scratch(stream, op);
    const Source* const sources = gpu::sources_of(stream, op.rows, output.rows, scratch.sources);
    const T* const other = op.unnamed == Unnamed::mean ? mean_row(stream, input, scratch) : nullptr;
    gpu::with_packs<gpu::numbers_at_once<T>>(
        [&]<unsigned n>(std::integral_constant<unsigned, n>) {
            gpu::for_each_pack(stream, output.rows, output.columns,
                               PutAllRows<T, n>{input, sources, other, output, op.accumulate});
        },
        input, output);
}

template <class From, class To, unsigned n>
struct Convert {
    static constexpr unsigned count = n;

    Elements<const From> input;
    Elements<To> output;

    __device__ void operator()(std::size_t r, std::size_t c) const {
        const gpu::Pack<From, n> from = gpu::pack_at<n>(input.row(r) + c);
        gpu::Pack<To, n> to;
        for (unsigned k = 0; k < n; ++k) to.of[k] = gpu::number_as<To>(from.of[k]);
        gpu::pack_at<n>(output.row(r) + c) = to;
    }
};

template <class From, class To>
void copy(CudaStream& stream, const Copy& op) {
    const gpu::Walk walk = gpu::Walk::through(op.output, op.input);
    const auto input = walk.elements_of<From>(op.input);
    const auto output = walk.elements_of<To>(op.output);
    constexpr std::size_t smaller = sizeof(From) < sizeof(To) ? sizeof(From) : sizeof(To);
    gpu::with_packs<gpu::widest_access / smaller>(
        [&]<unsigned n>(std::integral_constant<unsigned, n>) {
            gpu::for_each_pack(stream, walk.rows, walk.columns, Convert<From, To, n>{input, output});
        },
        input, output);
}

}  // namespace

void run(CudaStream& stream, const GatherRows& op) {
    gpu::visit_type(op.output.dtype, [&]<class T>(T) {
        const auto input = gpu::elements<T>(op.input);
        const auto output = gpu::elements<T>(op.output);
        const std::int32_t* const rows = gpu::names(stream, op.rows);
        gpu::with_packs<gpu::numbers_at_once<T>>(
            [&]<unsigned n>(std::integral_constant<unsigned, n>) {
                gpu::for_each_pack(stream, output.rows, output.columns, TakeRows<T, n>{input, rows, output});
            },
            input, output);
    });
}

void run(CudaStream& stream, const ScatterRows& op) {
    const bool writes_all = writes_unnamed(op.unnamed, op.accumulate);
    gpu::visit_type(op.output.dtype, [&]<class T>(T) {
        writes_all ? scatter_all<T>(stream, op) : scatter_named<T>(stream, op);
    });
}

void run(CudaStream& stream, const Copy& op) {
    gpu::visit_type(op.input.dtype, [&]<class From>(From) {
        gpu::visit_type(op.output.dtype, [&]<class To>(To) { copy<From, To>(stream, op); });
    });
}

}  // namespace trireme
