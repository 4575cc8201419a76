#include "trireme/plan/kernel_sums.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <string>

#include "trireme/base/error.hpp"
#include "unit/schedule/program_damage.hpp"

namespace trireme::plan {
namespace {

using schedule::Draw;
using Factors = std::array<double, LinearQuantity::terms>;  // see LinearQuantity::factors

constexpr std::size_t channels = 512;
constexpr std::size_t vocabulary = 20'000;
constexpr std::size_t max_tile_rows = 1000;

struct Machine {
    double flops = 0;  // per second
    double bandwidth = 0;
    double launch_seconds = 0;
};

constexpr Machine cpu{.flops = 2e11, .bandwidth = 5e10, .launch_seconds = 2e-6};
constexpr Machine gpu{.flops = 1e14, .bandwidth = 2e12, .launch_seconds = 5e-6};

KernelSeconds make_roofline(const Machine& machine) {
    return [machine](std::string_view, const KernelCall& call) {
        return std::max(call.flops / machine.flops, call.bytes / machine.bandwidth) + machine.launch_seconds;
    };
}

// A linear layer with 4 byte elements. `row_term` is the number of the factor that counts its rows.
KernelFormula make_linear(std::size_t row_term, std::size_t outputs) {
    KernelFormula kernel{.kernel = "linear"};
    kernel.flops.factors[row_term] = 2.0 * channels * static_cast<double>(outputs);
    kernel.bytes.factors[0] = 4.0 * channels * static_cast<double>(outputs);
    kernel.bytes.factors[row_term] = 4.0 * static_cast<double>(channels + outputs);
    return kernel;
}

// The passes of transformer blocks and a head; all matmuls are called `calls` times.
PassFormula make_pass(std::size_t calls, bool has_head) {
    KernelFormula linear = make_linear(2, 4 * channels);
    linear.calls = calls;
    linear.is_block_matmul = true;
    const KernelFormula norm{
        .kernel = "norm", .calls = 3, .bytes = {Factors{4.0 * channels, 0, 12.0 * channels}}};
    const KernelFormula attention{.kernel = "attention",
                                  .calls = calls,
                                  .flops = {Factors{0, 0, 0, 0, 4.0 * channels}},
                                  .bytes = {Factors{0, 0, 0, 16.0 * channels}}};
    PassFormula pass{.kernels = {linear, norm, attention}};
    if (!has_head) return pass;
    KernelFormula head = make_linear(5, vocabulary);
    head.calls = calls;
    head.is_in_tiles = true;
    const KernelFormula loss{
        .kernel = "loss", .bytes = {Factors{0, 0, 0, 0, 0, 8.0 * vocabulary}}, .is_in_tiles = true};
    const KernelFormula gather{
        .kernel = "gather", .bytes = {Factors{0, 0, 0, 0, 0, 8.0 * channels}}, .is_for_partial_targets = true};
    // Fills the gradient of all rows, once per tile.
    const KernelFormula fill{.kernel = "fill", .bytes = {Factors{0, 0, 4.0 * channels}}, .is_in_tiles = true};
    pass.kernels.insert(pass.kernels.end(), {head, loss, gather, fill});
    return pass;
}

// Micro-batches with more than 3,000 rows call each matmul more often.
StageWork make_work(bool has_head) {
    const auto make_formulas = [&](std::size_t max_rows, std::size_t calls) {
        return TrainingFormulas{.max_rows = max_rows,
                                .forward = make_pass(calls, has_head),
                                .backward = make_pass(2 * calls, has_head),
                                .backward_input = make_pass(calls, has_head),
                                .backward_weight = make_pass(calls + 1, has_head)};
    };
    return StageWork({make_formulas(3000, 4), make_formulas(std::numeric_limits<std::size_t>::max(), 6)},
                     max_tile_rows);
}

// Returns a padded or packed micro-batch in which all, some or no rows have a target.
MicrobatchShape draw_shape(std::size_t max_samples, std::size_t max_length, Draw& draw) {
    MicrobatchShape shape;
    std::size_t longest = 0;
    const std::size_t count = 1 + draw.below(max_samples);
    while (shape.samples < count) {
        const std::size_t length = 1 + draw.below(max_length);
        longest = std::max(longest, length);
        shape.samples += 1;
        shape.tokens += length;
        shape.square_length_sum += length * length;
    }
    shape.rows = draw.one_in(2) ? shape.tokens : shape.samples * longest;
    shape.predicted_rows = draw.one_in(3) ? shape.rows : draw.one_in(4) ? 0 : draw.below(shape.tokens + 1);
    return shape;
}

std::string to_string(const MicrobatchShape& shape) {
    return cat("samples ", shape.samples, ", rows ", shape.rows, ", tokens ", shape.tokens,
               ", squared lengths ", shape.square_length_sum, ", rows with a target ", shape.predicted_rows);
}

// The largest relative error of a time, and its shape.
struct LargestError {
    double error = 0;
    std::string text;

    void add(std::int64_t actual, std::int64_t expected, const std::string& name) {
        if (std::abs(actual - expected) <= 2) return;  // rounding
        const double ratio = static_cast<double>(actual) / static_cast<double>(expected);
        if (std::abs(ratio - 1) <= error) return;
        error = std::abs(ratio - 1);
        text = cat(name, " ", actual, " ns, predicted ", expected, " ns");
    }
};

std::int64_t to_nanoseconds(std::int64_t picoseconds) { return (picoseconds + 500) / 1000; }

// Compares the times of 200 random shapes with the sums of all predicted kernel calls.
LargestError find_largest_error(const StageWork& work, const Machine& machine, std::size_t max_samples,
                                std::size_t max_length) {
    const KernelSeconds seconds = make_roofline(machine);
    KernelSums whole(work, false, seconds);
    KernelSums halves(work, true, seconds);
    Draw draw(RandomKey{20261128}.then("sums"));
    LargestError largest;
    for (int trial = 0; trial < 200; ++trial) {
        const MicrobatchShape shape = draw_shape(max_samples, max_length, draw);
        const std::string text = to_string(shape);
        const TrainingCosts costs = work.predict_costs(shape, seconds);
        const std::int64_t forward = to_nanoseconds(costs.forward.kernel_picoseconds());
        const std::int64_t split_backward = to_nanoseconds(costs.backward_input.kernel_picoseconds() +
                                                           costs.backward_weight.kernel_picoseconds());

        const PassTimes times = whole.find(shape);
        const PassTimes split_times = halves.find(shape);

        largest.add(times.forward, forward, text + ": forward");
        largest.add(times.backward, to_nanoseconds(costs.backward.kernel_picoseconds()), text + ": backward");
        largest.add(split_times.forward, forward, text + ": forward with a split backward");
        largest.add(split_times.backward, split_backward, text + ": split backward");
        EXPECT_EQ(times.sum(), times.forward + times.backward);
    }
    return largest;
}

void expect_close_times(const Machine& machine, std::size_t max_samples, std::size_t max_length) {
    for (const bool has_head : {false, true}) {
        const LargestError largest = find_largest_error(make_work(has_head), machine, max_samples, max_length);

        EXPECT_LE(largest.error, 1e-6) << "head " << has_head << ", " << largest.text;
    }
}

TEST(KernelSums, AgreeWithThePredictionOfEveryCall) { expect_close_times(cpu, 32, 512); }

TEST(KernelSums, AgreeOnAMachineWithFastArithmetic) { expect_close_times(gpu, 32, 512); }

TEST(KernelSums, AgreeForSmallMicrobatches) {
    expect_close_times(gpu, 4, 16);
    expect_close_times(cpu, 4, 16);
}

TEST(KernelSums, AreZeroForAnEmptyMicrobatch) {
    const StageWork work = make_work(true);
    KernelSums sums(work, false, make_roofline(cpu));

    EXPECT_EQ(sums.find({}).sum(), 0);
}

TEST(KernelSums, DoNotDependOnEarlierCalls) {
    const StageWork work = make_work(true);
    KernelSums sums(work, false, make_roofline(gpu));
    Draw draw(RandomKey{20261128}.then("repeat"));
    for (int trial = 0; trial < 50; ++trial) {
        const MicrobatchShape shape = draw_shape(16, 256, draw);

        const PassTimes times = sums.find(shape);

        const PassTimes fresh = KernelSums(work, false, make_roofline(gpu)).find(shape);
        EXPECT_EQ(times.forward, fresh.forward);
        EXPECT_EQ(times.backward, fresh.backward);
    }
}

}  // namespace
}  // namespace trireme::plan
