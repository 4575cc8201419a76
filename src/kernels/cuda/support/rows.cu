// Gathers, scatters and copies rows, with one thread per vector of elements.
#include "kernels/cuda/support/column_sums.cuh"
#include "kernels/cuda/support/elementwise.cuh"
#include "kernels/cuda/support/scatter_sources.cuh"
#include "kernels/cuda/support/walk.hpp"
#include "kernels/unindexed_fill.hpp"
#include "trireme/kernels/rows.hpp"

namespace trireme::kernels {
namespace {

using gpu::Accumulator;
using gpu::Source;
using gpu::Vector;

template <class T>
struct GatherStep {
    device::Elements<const T> input;
    const std::int32_t* rows;
    device::Elements<T> output;

    template <unsigned width>
    __device__ void process(std::size_t row, std::size_t column) const {
        const auto from = static_cast<std::size_t>(rows[row]);
        gpu::store(output, row, column, gpu::load<width>(input, from, column));
    }
};

template <class T>
struct ScatterStep {
    device::Elements<const T> input;
    const std::int32_t* rows;
    device::Elements<T> output;
    bool accumulate;

    template <unsigned width>
    __device__ void process(std::size_t row, std::size_t column) const {
        T* const to = output.row(static_cast<std::size_t>(rows[row])) + column;
        gpu::store_or_add(to, gpu::load<width>(input, row, column), accumulate);
    }
};

// Writes every row of the output, including the rows that no index refers to.
template <class T>
struct ScatterAllStep {
    device::Elements<const T> input;
    const Source* sources;   // (output.rows): 1 + the input row of each output row; 0 if an output row has none
    const T* unindexed_row;  // value of the output rows without index; null if the value is zero
    device::Elements<T> output;
    bool accumulate;

    template <unsigned width>
    __device__ void process(std::size_t row, std::size_t column) const {
        const Source source = sources[row];
        const T* const from = source == 0 ? unindexed_row : input.row(source - 1);
        Vector<T, width> value{};
        if (from != nullptr) value = gpu::load<width>(from + column);
        gpu::store_or_add(output.row(row) + column, value, accumulate);
    }
};

// A Result of sum_rows() that writes the mean of each column.
template <class T>
struct SetMean {
    T* mean;
    std::size_t rows;

    __device__ void operator()(unsigned /*s*/, std::size_t column, Accumulator<T> sum) const {
        mean[column] = static_cast<T>(sum / static_cast<Accumulator<T>>(rows));
    }
};

template <class T>
void scatter_indexed(device::CudaStream& stream, const ScatterRows& op) {
    const ScatterStep<T> step{.input = gpu::get_elements<T>(op.input),
                              .rows = gpu::get_gpu_indices(stream, op.rows),
                              .output = gpu::get_elements<T>(op.output),
                              .accumulate = op.accumulate};
    gpu::for_each_vector<T>(stream, op.input.rows, op.input.columns,
                            gpu::may_use_vectors<T>(step.input, step.output), step);
}

std::size_t round_up_to_vector(std::size_t bytes) {
    return gpu::divide_round_up(bytes, gpu::vector_bytes) * gpu::vector_bytes;
}

template <class T>
void scatter_all(device::CudaStream& stream, const ScatterRows& op) {
    const gpu::PlainTerms<T> terms{gpu::get_elements<T>(op.input)};
    const bool has_mean = op.unindexed_fill == UnindexedFill::mean;
    const std::size_t source_bytes = round_up_to_vector(op.output.rows * sizeof(Source));
    const std::size_t mean_bytes = round_up_to_vector(op.input.columns * sizeof(T));
    const std::size_t sums_bytes = has_mean ? gpu::count_column_sums_bytes(terms) : 0;
    std::byte* const memory = stream.work->get_scratch(source_bytes + mean_bytes + sums_bytes);
    T* const mean = reinterpret_cast<T*>(memory + source_bytes);
    if (has_mean)
        gpu::sum_rows(stream, terms, SetMean<T>{mean, op.input.rows}, memory + source_bytes + mean_bytes);
    const ScatterAllStep<T> step{.input = terms.matrix,
                                 .sources = gpu::find_sources(stream, op.rows, op.output.rows, memory),
                                 .unindexed_row = has_mean ? mean : nullptr,
                                 .output = gpu::get_elements<T>(op.output),
                                 .accumulate = op.accumulate};
    gpu::for_each_vector<T>(stream, op.output.rows, op.output.columns,
                            gpu::may_use_vectors<T>(step.input, step.output), step);
}

template <class From, class To>
struct Convert {
    device::Elements<const From> input;
    device::Elements<To> output;

    template <unsigned width>
    __device__ void process(std::size_t row, std::size_t column) const {
        gpu::store(output, row, column, gpu::convert<To>(gpu::load<width>(input, row, column)));
    }
};

template <class From, class To>
void copy(device::CudaStream& stream, const Copy& op) {
    using Smaller = std::conditional_t<sizeof(From) < sizeof(To), From, To>;
    const gpu::CommonShape shape = gpu::CommonShape::find(op.output, op.input);
    const Convert<From, To> step{shape.make_elements<From>(op.input), shape.make_elements<To>(op.output)};
    gpu::for_each_vector<Smaller>(stream, shape.rows, shape.columns,
                                  gpu::may_use_vectors<Smaller>(step.input, step.output), step);
}

}  // namespace

void run(device::CudaStream& stream, const GatherRows& op) {
    gpu::visit_type(op.output.dtype, [&]<class T>(T) {
        const GatherStep<T> step{.input = gpu::get_elements<T>(op.input),
                                 .rows = gpu::get_gpu_indices(stream, op.rows),
                                 .output = gpu::get_elements<T>(op.output)};
        gpu::for_each_vector<T>(stream, op.output.rows, op.output.columns,
                                gpu::may_use_vectors<T>(step.input, step.output), step);
    });
}

void run(device::CudaStream& stream, const ScatterRows& op) {
    const bool writes_all = writes_unindexed(op.unindexed_fill, op.accumulate);
    gpu::visit_type(op.output.dtype, [&]<class T>(T) {
        writes_all ? scatter_all<T>(stream, op) : scatter_indexed<T>(stream, op);
    });
}

void run(device::CudaStream& stream, const Copy& op) {
    gpu::visit_type(op.input.dtype, [&]<class From>(From) {
        gpu::visit_type(op.output.dtype, [&]<class To>(To) { copy<From, To>(stream, op); });
    });
}

}  // namespace trireme::kernels
