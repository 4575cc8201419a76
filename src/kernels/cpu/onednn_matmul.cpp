#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <vector>

#include "kernels/cpu/matmul.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/tile.hpp"

namespace trireme::kernels::cpu {
namespace {

constexpr std::size_t panel_columns = 128;
constexpr std::size_t panel_depth = 256;  // a panel of 128 x 256 doubles fits into the L2 cache

struct Range {
    std::size_t begin;
    std::size_t count;
};

// Returns the part of the left factor that begins at (row, depth).
LeftFactor<double> make_left_factor(const Factor<double>& left, std::size_t row, std::size_t depth) {
    const auto& m = left.matrix;
    if (left.is_transposed) return {&m(depth, row), 1, m.stride};
    return {&m(row, depth), m.stride, 1};
}

// Copies rows `depth` and columns `columns` of the right factor to `panel`. The rows of the panel have
// panel_columns elements and are padded with zeros to whole vectors.
void pack(const Factor<double>& right, Range depth, Range columns, double* panel) {
    const auto& m = right.matrix;
    for (std::size_t k = 0; k < depth.count; ++k) {
        double* row = panel + k * panel_columns;
        for (std::size_t c = 0; c < columns.count; ++c) {
            row[c] = right.is_transposed ? m(columns.begin + c, depth.begin + k)
                                         : m(depth.begin + k, columns.begin + c);
        }
        std::fill(row + columns.count, row + round_up(columns.count, lanes<double>), 0.0);
    }
}

// output += left[., depth] panel, for columns `columns` of the output
void add_panel(const Matmul<double>& matmul, const double* panel, Range depth, Range columns) {
    alignas(vector_bytes) double sums[tile_rows * panel_columns];
    const device::Elements<double>& output = matmul.output;
    for (std::size_t r = 0; r < output.rows; r += tile_rows) {
        const std::size_t rows = std::min<std::size_t>(tile_rows, output.rows - r);
        multiply_rows(rows, make_left_factor(matmul.left, r, depth.begin), {panel, panel_columns}, depth.count,
                      columns.count, {sums, panel_columns}, false);
        for (std::size_t i = 0; i < rows; ++i) {
            double* output_row = output.row(r + i) + columns.begin;
            for (std::size_t c = 0; c < columns.count; ++c) output_row[c] += sums[i * panel_columns + c];
        }
    }
}

}  // namespace

// Uses dnnl_sgemm instead of a matmul primitive. On plain layouts, dnnl_sgemm was faster for most shapes of
// GPT-2, by up to 3 times, and it needs no cache of primitives.
void multiply(int threads, const Matmul<float>& matmul) {
    const auto& [left, right, output, accumulate] = matmul;
    if (output.rows == 0 || output.columns == 0) return;
    const ScopedMatmulThreads scope(threads);
    const dnnl_status_t status = dnnl_sgemm(
        left.is_transposed ? 'T' : 'N', right.is_transposed ? 'T' : 'N', static_cast<dnnl_dim_t>(output.rows),
        static_cast<dnnl_dim_t>(output.columns), static_cast<dnnl_dim_t>(left.depth_as_left()), 1,
        left.matrix.data, static_cast<dnnl_dim_t>(left.matrix.stride), right.matrix.data,
        static_cast<dnnl_dim_t>(right.matrix.stride), accumulate ? 1.0F : 0.0F, output.data,
        static_cast<dnnl_dim_t>(output.stride));
    if (status != dnnl_success) {
        throw ResourceError(cat("oneDNN failed to multiply a ", output.rows, " x ", left.depth_as_left(),
                                " matrix by a ", left.depth_as_left(), " x ", output.columns,
                                " matrix (status ", static_cast<int>(status),
                                "); use a smaller --batch, or --device reference"));
    }
}

void multiply(int threads, const Matmul<double>& matmul) { multiply_blocked(threads, matmul); }

void multiply_blocked(int threads, const Matmul<double>& matmul) {
    const device::Elements<double>& output = matmul.output;
    const std::size_t depth = matmul.left.depth_as_left();
    for_each_range(threads, output.columns, panel_columns, panel_columns,
                   [&](std::size_t begin, std::size_t end) {
                       std::vector<double> panel(panel_columns * std::min(panel_depth, depth));
                       for (std::size_t c = begin; c < end; c += panel_columns) {
                           const Range columns{c, std::min(panel_columns, end - c)};
                           for (std::size_t r = 0; r < output.rows && !matmul.accumulate; ++r) {
                               std::fill_n(output.row(r) + c, columns.count, 0.0);
                           }
                           for (std::size_t k = 0; k < depth; k += panel_depth) {
                               const Range depths{k, std::min(panel_depth, depth - k)};
                               pack(matmul.right, depths, columns, panel.data());
                               add_panel(matmul, panel.data(), depths, columns);
                           }
                       }
                   });
}

}  // namespace trireme::kernels::cpu
