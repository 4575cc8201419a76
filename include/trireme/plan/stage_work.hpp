// The kernels of a stage's passes as functions of the shape of a micro-batch, and the times of these kernels.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/plan/kernel_times.hpp"

namespace trireme::plan {

// The counts of a micro-batch that determine the cost of its passes.
struct MicrobatchShape {
    std::size_t samples = 0;
    std::size_t rows = 0;               // tokens, with padding
    std::size_t tokens = 0;             // without padding
    std::size_t square_length_sum = 0;  // sum over the samples of tokens^2, without padding
    std::size_t predicted_rows = 0;     // rows with a target

    friend auto operator<=>(const MicrobatchShape&, const MicrobatchShape&) = default;
};

// Returns the shape of a micro-batch without padding whose samples have equal lengths, and whose rows all have
// a target. `samples` must not be 0.
MicrobatchShape make_equal_length_shape(std::size_t samples, std::size_t rows);

// Returns the mean of each count over `shapes`, rounded down. `shapes` must not be empty.
MicrobatchShape compute_mean_shape(const std::vector<MicrobatchShape>& shapes);

// A quantity that is a linear function of the counts of a shape.
struct LinearQuantity {
    static constexpr std::size_t terms = 6;

    // The constant term, then the factor of each count, in the order of the fields of MicrobatchShape.
    std::array<double, terms> factors = {};

    double evaluate(const MicrobatchShape& shape) const;
    friend bool operator==(const LinearQuantity&, const LinearQuantity&) = default;
};

// The number and size of the calls of a kernel, for a pass of one micro-batch.
struct KernelFormula {
    std::string kernel;  // for example "linear"
    std::size_t calls = 1;
    LinearQuantity flops = {};
    LinearQuantity bytes = {};
    std::array<LinearQuantity, 3> matmul = {};  // rows, columns and depth; zeros unless it is one matmul
    bool is_block_matmul = false;               // a matmul with weights in a transformer block
    bool is_in_tiles = false;  // rows with a target are cut into tiles; `calls` counts the calls per tile
    bool is_for_partial_targets = false;  // called only if some rows have no target

    // True if the two formulas are equal, except that `calls` may differ.
    bool is_same_call(const KernelFormula& other) const;
    friend bool operator==(const KernelFormula&, const KernelFormula&) = default;
};

// A pass of one micro-batch through a stage on one rank.
struct PassFormula {
    std::vector<KernelFormula> kernels = {};
    LinearQuantity bytes_sent = {};     // to the other ranks of the tensor group
    LinearQuantity messages_sent = {};  // to these ranks, if there is exactly one tile
    // Added for each tile after the first, and subtracted if there is no tile; see is_in_tiles.
    double messages_sent_per_tile = 0;

    friend bool operator==(const PassFormula&, const PassFormula&) = default;
};

// The training passes of a stage, for shapes with at most `max_rows` rows. With full recomputation, backward
// passes are not split, so `backward_input` and `backward_weight` have no kernels.
struct TrainingFormulas {
    std::size_t max_rows = std::numeric_limits<std::size_t>::max();
    PassFormula forward = {};
    PassFormula backward = {};
    PassFormula backward_input = {};
    PassFormula backward_weight = {};

    friend bool operator==(const TrainingFormulas&, const TrainingFormulas&) = default;
};

// Returns the seconds of a kernel call.
using KernelSeconds = std::function<double(std::string_view kernel, const KernelCall& call)>;

// The cost of a pass. Times are integers, because a sum of integers does not depend on the order of its terms.
struct PassCost {
    std::int64_t matmul_picoseconds = 0;  // matmuls with weights in transformer blocks
    std::int64_t other_picoseconds = 0;   // all other kernels
    double bytes_sent = 0;                // to the other ranks of the tensor group
    double messages_sent = 0;

    std::int64_t kernel_picoseconds() const { return matmul_picoseconds + other_picoseconds; }
};

struct TrainingCosts {
    PassCost forward = {};
    PassCost backward = {};
    PassCost backward_input = {};
    PassCost backward_weight = {};
};

// The work of a stage on one rank.
class StageWork {
public:
    // `formulas` is sorted by max_rows, which is unlimited for the last entry. A head processes at
    // most `max_tile_rows` rows with a target at a time.
    StageWork(std::vector<TrainingFormulas> formulas, std::size_t max_tile_rows)
        : formulas_(std::move(formulas)), max_tile_rows_(max_tile_rows) {}

    // Returns the costs of the passes of one micro-batch. All costs are 0 for an empty micro-batch.
    TrainingCosts predict_costs(const MicrobatchShape& shape, const KernelSeconds& seconds) const;

    // Returns the seconds of all calls of one kernel for one micro-batch.
    double predict_kernel(const KernelFormula& kernel, const MicrobatchShape& shape,
                          const KernelSeconds& seconds) const;

    const std::vector<TrainingFormulas>& formulas() const { return formulas_; }

    friend bool operator==(const StageWork&, const StageWork&) = default;

private:
    PassCost predict_cost(const PassFormula& pass, const MicrobatchShape& shape,
                          const KernelSeconds& seconds) const;

    std::vector<TrainingFormulas> formulas_;
    std::size_t max_tile_rows_;
};

}  // namespace trireme::plan
