#include "trireme/plan/stage_work.hpp"

#include <algorithm>
#include <cmath>

namespace trireme::plan {
namespace {

KernelCall evaluate(const KernelFormula& formula, const MicrobatchShape& shape) {
    KernelCall call{.flops = formula.flops.evaluate(shape), .bytes = formula.bytes.evaluate(shape)};
    for (std::size_t i = 0; i < call.matmul.size(); ++i)
        call.matmul[i] = static_cast<std::size_t>(formula.matmul[i].evaluate(shape) + 0.5);
    return call;
}

// The tiles in which the rows with a target are processed. All tiles but the last have the size of the first.
struct Tiles {
    std::size_t count = 0;
    MicrobatchShape first;  // the micro-batch with the targets of the first tile only
    MicrobatchShape last;
};

// Cuts the rows as Head::compute_tile_rows() does: into the fewest tiles of almost equal size.
Tiles cut_tiles(const MicrobatchShape& shape, std::size_t max_tile_rows) {
    const std::size_t rows = shape.predicted_rows;
    if (rows == 0) return {};
    const std::size_t min_count = (rows - 1) / max_tile_rows + 1;
    const std::size_t tile_rows = (rows - 1) / min_count + 1;
    Tiles tiles{.count = (rows - 1) / tile_rows + 1, .first = shape, .last = shape};
    tiles.first.predicted_rows = tile_rows;
    tiles.last.predicted_rows = rows - (tiles.count - 1) * tile_rows;
    return tiles;
}

// Limits the result, so that the sum of two results does not overflow.
std::int64_t to_picoseconds(double seconds) {
    constexpr double max_picoseconds = 1e18;
    return std::llround(std::min(1e12 * seconds, max_picoseconds));
}

}  // namespace

MicrobatchShape make_equal_length_shape(std::size_t samples, std::size_t rows) {
    return {.samples = samples,
            .rows = rows,
            .tokens = rows,
            .square_length_sum = rows * rows / samples,
            .predicted_rows = rows};
}

MicrobatchShape compute_mean_shape(const std::vector<MicrobatchShape>& shapes) {
    MicrobatchShape mean;
    for (std::size_t MicrobatchShape::*count :
         {&MicrobatchShape::samples, &MicrobatchShape::rows, &MicrobatchShape::tokens,
          &MicrobatchShape::square_length_sum, &MicrobatchShape::predicted_rows}) {
        for (const MicrobatchShape& shape : shapes) mean.*count += shape.*count;
        mean.*count /= shapes.size();
    }
    return mean;
}

double LinearQuantity::evaluate(const MicrobatchShape& shape) const {
    return factors[0] + factors[1] * static_cast<double>(shape.samples) +
           factors[2] * static_cast<double>(shape.rows) + factors[3] * static_cast<double>(shape.tokens) +
           factors[4] * static_cast<double>(shape.square_length_sum) +
           factors[5] * static_cast<double>(shape.predicted_rows);
}

bool KernelFormula::is_same_call(const KernelFormula& other) const {
    return kernel == other.kernel && flops == other.flops && bytes == other.bytes && matmul == other.matmul &&
           is_block_matmul == other.is_block_matmul && is_in_tiles == other.is_in_tiles &&
           is_for_partial_targets == other.is_for_partial_targets;
}

TrainingCosts StageWork::predict_costs(const MicrobatchShape& shape, const KernelSeconds& seconds) const {
    if (shape.rows == 0) return {};
    const auto formulas = std::ranges::find_if(
        formulas_, [&](const TrainingFormulas& each) { return shape.rows <= each.max_rows; });
    return {.forward = predict_cost(formulas->forward, shape, seconds),
            .backward = predict_cost(formulas->backward, shape, seconds),
            .backward_input = predict_cost(formulas->backward_input, shape, seconds),
            .backward_weight = predict_cost(formulas->backward_weight, shape, seconds)};
}

double StageWork::predict_kernel(const KernelFormula& kernel, const MicrobatchShape& shape,
                                 const KernelSeconds& seconds) const {
    if (kernel.is_for_partial_targets && shape.predicted_rows == shape.rows) return 0;
    const auto calls = static_cast<double>(kernel.calls);
    if (!kernel.is_in_tiles) return calls * seconds(kernel.kernel, evaluate(kernel, shape));
    const Tiles tiles = cut_tiles(shape, max_tile_rows_);
    if (tiles.count == 0) return 0;
    double tile_seconds = seconds(kernel.kernel, evaluate(kernel, tiles.last));
    if (tiles.count > 1)
        tile_seconds +=
            static_cast<double>(tiles.count - 1) * seconds(kernel.kernel, evaluate(kernel, tiles.first));
    return calls * tile_seconds;
}

PassCost StageWork::predict_cost(const PassFormula& pass, const MicrobatchShape& shape,
                                 const KernelSeconds& seconds) const {
    double matmul_seconds = 0;
    double other_seconds = 0;
    for (const KernelFormula& kernel : pass.kernels)
        (kernel.is_block_matmul ? matmul_seconds : other_seconds) += predict_kernel(kernel, shape, seconds);
    const auto tiles = static_cast<double>(cut_tiles(shape, max_tile_rows_).count);
    return {.matmul_picoseconds = to_picoseconds(matmul_seconds),
            .other_picoseconds = to_picoseconds(other_seconds),
            .bytes_sent = pass.bytes_sent.evaluate(shape),
            .messages_sent = pass.messages_sent.evaluate(shape) + pass.messages_sent_per_tile * (tiles - 1)};
}

}  // namespace trireme::plan
