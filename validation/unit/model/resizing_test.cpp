// Tests matmuls with some of the input channels, for both orientations of weights.
#include "trireme/model/resizing.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "error_message.hpp"
#include "model/rebalance/rebalanced_projection.hpp"
#include "trireme/kernels/read.hpp"
#include "trireme/model/projection.hpp"
#include "unit/model/small_parts.hpp"

namespace trireme::model {
namespace {

using Numbers = std::vector<double>;
using List = std::vector<std::int32_t>;
using Counts = std::vector<std::size_t>;

const ProjectionId place{.block = 1, .matmul = layout::Matmul::mlp_in};

// A projection of a family, with its tensors. gpt2 stores weights as (in, out) and has biases; llama stores
// (out, in) and has none.
class Bench {
public:
    Bench(Family family, std::size_t channels, std::vector<std::size_t> outputs,
          device::Stream stream = {device::ReferenceStream{}}, device::DType dtype = device::DType::f64)
        : projection_(validation::sharable(family, Task::language), make_all_channels(channels),
                      make_parts(outputs), 0.02),
          specs_(projection_.parameters()),
          stream_(std::move(stream)),
          dtype_(dtype),
          values_(specs_, dtype, device::MemorySpace::host),
          gradients_(specs_, dtype, device::MemorySpace::host) {
        for (std::size_t i = 0; i < specs_.size(); ++i) {
            weights_.push_back(values_[i]);
            sums_.push_back(gradients_[i]);
        }
    }

    const Projection& projection() const { return projection_; }
    ProjectionShape shape() const { return projection_.make_shape(place); }
    const std::vector<ParameterSpec>& specs() const { return specs_; }
    device::Stream& stream() { return stream_; }

    device::Tensor tensor(std::size_t rows, std::size_t columns, const Numbers& numbers = {}) {
        const device::Tensor made = memory_.tensor(dtype_, rows, columns);
        set(made, numbers.empty() ? Numbers(made.size(), std::nan("")) : numbers);
        return made;
    }
    device::Tensor scattered(std::size_t rows, std::size_t columns, std::uint64_t seed) {
        Numbers numbers;
        for (std::size_t i = 0; i < rows * columns; ++i)
            numbers.push_back(2 * to_unit_interval(random_block(RandomKey{seed}, i)[0]) - 1);
        return tensor(rows, columns, numbers);
    }
    // Sets the first elements of parameter i, in storage order.
    void set_weight(std::size_t i, const Numbers& numbers) { set(values_[i], numbers); }
    void scatter_weights() {
        for (std::size_t i = 0; i < specs_.size(); ++i) {
            const device::Tensor numbers = scattered(specs_[i].rows, specs_[i].columns, 100 + i);
            set(values_[i], kernels::read_values(stream_, numbers));
        }
    }
    Numbers weight(std::size_t i) { return kernels::read_values(stream_, values_[i]); }
    Numbers gradient(std::size_t i) { return kernels::read_values(stream_, gradients_[i]); }

    Numbers forward(device::Tensor input, const SelectedChannels* kept) {
        const device::Tensor output = tensor(input.rows, projection_.output_width());
        if (kept != nullptr) {
            pruned_.forward_kept(pass(), weights_, input, output, *kept);
        } else {
            projection_.forward(pass(), weights_, input, output, helper_tasks_, memory_);
        }
        return kernels::read_values(stream_, output);
    }
    Numbers backward_input(device::Tensor grad_output, SelectedChannels* kept) {
        const device::Tensor grad_input = tensor(grad_output.rows, shape().channels);
        if (kept != nullptr) {
            pruned_.backward_input_kept(pass(), weights_, grad_output, grad_input, *kept);
        } else {
            projection_.backward_input(pass(), weights_, grad_output, grad_input, helper_tasks_, memory_);
        }
        return kernels::read_values(stream_, grad_input);
    }
    void backward_weight(device::Tensor input, device::Tensor grad_output, SelectedChannels* kept) {
        if (kept != nullptr) {
            pruned_.backward_weight_kept(pass(), input, grad_output, sums_, *kept);
        } else {
            projection_.backward_weight(pass(), input, grad_output, helper_tasks_, sums_);
        }
    }

    double flops(std::string_view kernel) const {
        double sum = 0;
        for (const device::Ledger::Entry& entry : stream_.ledger.entries())
            sum += entry.total_cost.kernel == kernel ? entry.total_cost.flops : 0;
        return sum;
    }

    Resizing resizing(Filling filling, const List& list, std::size_t max_rows = 4) {
        Resizing made({shape()}, filling, dtype_, max_rows, device::MemorySpace::host);
        made.begin_period({{place, list}});
        return made;
    }

private:
    static std::vector<Projection::MatrixSpec> make_parts(const std::vector<std::size_t>& outputs) {
        std::vector<Projection::MatrixSpec> parts;
        for (const std::size_t width : outputs)
            parts.push_back({cat("part", parts.size()), make_all_channels(width)});
        return parts;
    }
    void set(const device::Tensor& to, const Numbers& numbers) {
        visit_float(to.dtype, [&]<class T>(T) {
            for (std::size_t i = 0; i < numbers.size(); ++i) to.as<T>()[i] = static_cast<T>(numbers[i]);
        });
    }
    Pass pass() { return {.stream = stream_, .batch = batch_, .scratch = scratch_, .dtype = dtype_}; }

    Projection projection_;
    RebalancedProjection pruned_{projection_, place, InputSharding::replicated, {}};
    HelperStates helper_tasks_;
    std::vector<ParameterSpec> specs_;
    device::Stream stream_;
    device::DType dtype_;
    ParameterTensors values_, gradients_;
    std::vector<device::ConstTensor> weights_;
    std::vector<device::Tensor> sums_;
    TokenBatch batch_;
    device::Arena memory_{"test", 1 << 22, device::MemorySpace::host};
    device::Arena scratch_{"scratch", 1 << 22, device::MemorySpace::host};
};

// Channels 0 and 2 of three are kept; there are two outputs:
//   W = 1 2   X = 1 2 3   dY = 1 2   Y = 1 W[0] + 3 W[2]             = 16 20
//       3 4                          dX[0] = 1 + 4, dX[2] = 5 + 12   = 5 . 17
//       5 6                          dW[0] = 1 dY, dW[2] = 3 dY
const Numbers in_out_weight{1, 2, 3, 4, 5, 6};
const Numbers out_in_weight{1, 3, 5, 2, 4, 6};

class ResizedProjection : public testing::TestWithParam<Family> {
protected:
    ResizedProjection() : bench_(GetParam(), 3, {2}) {
        bench_.set_weight(0, is_in_out() ? in_out_weight : out_in_weight);
        if (is_in_out()) bench_.set_weight(1, {10, 20});
    }
    bool is_in_out() const { return GetParam() == Family::gpt2; }
    // Converts numbers in (in, out) order to the storage order of the weight.
    Numbers in_storage_order(const Numbers& in_out) const {
        if (is_in_out()) return in_out;
        return {in_out[0], in_out[2], in_out[4], in_out[1], in_out[3], in_out[5]};
    }

    Bench bench_;
};

TEST_P(ResizedProjection, MultipliesOnlyTheKeptChannels) {
    Resizing resizing = bench_.resizing(Filling::zero, {0, 2});

    const Numbers output = bench_.forward(bench_.tensor(1, 3, {1, 2, 3}), resizing.at(place));

    EXPECT_EQ(output, is_in_out() ? (Numbers{26, 40}) : (Numbers{16, 20}));
}

TEST_P(ResizedProjection, FillsWithZerosOrMeansAndAccumulatesWeightGradients) {
    for (const Filling filling : {Filling::zero, Filling::average}) {
        Bench bench(GetParam(), 3, {2});
        bench.set_weight(0, is_in_out() ? in_out_weight : out_in_weight);
        Resizing resizing = bench.resizing(filling, {0, 2});
        const device::Tensor input = bench.tensor(1, 3, {1, 2, 3}), grad_output = bench.tensor(1, 2, {1, 2});
        const bool is_mean = filling == Filling::average;

        EXPECT_EQ(bench.backward_input(grad_output, resizing.at(place)), (Numbers{5, is_mean ? 11.0 : 0, 17}));

        bench.backward_weight(input, grad_output, resizing.at(place));
        EXPECT_EQ(bench.gradient(0),
                  in_storage_order(is_mean ? Numbers{1, 2, 2, 4, 3, 6} : Numbers{1, 2, 0, 0, 3, 6}));
        bench.backward_weight(input, grad_output, resizing.at(place));
        EXPECT_EQ(bench.gradient(0),
                  in_storage_order(is_mean ? Numbers{2, 4, 4, 8, 6, 12} : Numbers{2, 4, 0, 0, 6, 12}));
        if (!is_in_out()) continue;
        EXPECT_EQ(bench.gradient(1), (Numbers{2, 4}));
    }
}

// The first pass keeps channels 0 and 2 as above. The second one keeps 1 and 2, with X = 2 1 4 and dY = 1 1:
// dX[1] = 7, dX[2] = 11, dW[1] = 1 1, dW[2] = 4 4. Channel 0 repeats its last gradients, 5 and 1 2.
TEST_P(ResizedProjection, FillsGradientsWithThePreviousOnes) {
    Resizing resizing = bench_.resizing(Filling::same, {0, 2});
    const device::Tensor grad_output = bench_.tensor(1, 2, {1, 2}), other_grad = bench_.tensor(1, 2, {1, 1});

    EXPECT_EQ(bench_.backward_input(grad_output, resizing.at(place)), (Numbers{5, 0, 17}));
    bench_.backward_weight(bench_.tensor(1, 3, {1, 2, 3}), grad_output, resizing.at(place));
    EXPECT_EQ(bench_.gradient(0), in_storage_order({1, 2, 0, 0, 3, 6}));

    resizing.begin_period({{place, {1, 2}}});
    EXPECT_EQ(bench_.backward_input(other_grad, resizing.at(place)), (Numbers{5, 7, 11}));
    bench_.backward_weight(bench_.tensor(1, 3, {2, 1, 4}), other_grad, resizing.at(place));
    EXPECT_EQ(bench_.gradient(0), in_storage_order({2, 4, 1, 1, 7, 10}));

    const device::Tensor two_rows = bench_.tensor(2, 2, {1, 1, 1, 1});  // the last pass had one row
    EXPECT_EQ(bench_.backward_input(two_rows, resizing.at(place)), (Numbers{0, 7, 11, 0, 7, 11}));
}

INSTANTIATE_TEST_SUITE_P(Families, ResizedProjection, testing::Values(Family::gpt2, model::Family::llama),
                         [](const auto& family) { return std::string(to_string(family.param)); });

struct Machine {
    device::Stream stream;
    device::DType dtype;
    double tolerance;
};

std::vector<Machine> every_machine() {
    return {{device::Stream{device::ReferenceStream{}}, device::DType::f64, 1e-12},
            {device::Stream{device::CpuStream{2}}, device::DType::f32, 1e-6}};
}

// Returns 24 of 32 channels. The skipped channels are scattered.
List choose_24_of_32() {
    List list;
    for (std::int32_t c = 0; c < 32; ++c) {
        if (c * 5 % 32 >= 8) list.push_back(c);
    }
    return list;
}

bool is_skipped(std::size_t channel) { return channel * 5 % 32 < 8; }

double largest_error(const Numbers& found, const Numbers& expected) {
    double worst = found.size() == expected.size() ? 0 : 1, largest = 0;
    for (std::size_t i = 0; i < std::min(found.size(), expected.size()); ++i) {
        worst = std::max(worst, std::abs(found[i] - expected[i]));
        largest = std::max(largest, std::abs(expected[i]));
    }
    return worst / largest;
}

// The projection has three matrices that read the same input, as queries, keys and values do.
TEST(Resizing, MatchesMatmulsOfMaskedInputs) {
    for (const Family family : {Family::gpt2, model::Family::llama, model::Family::bert}) {
        for (const Machine& machine : every_machine()) {
            SCOPED_TRACE(cat(to_string(family), " ", to_string(machine.dtype)));
            Bench dense(family, 32, {7, 16, 9}, machine.stream, machine.dtype);
            Bench some(family, 32, {7, 16, 9}, machine.stream, machine.dtype);
            dense.scatter_weights();
            some.scatter_weights();
            Resizing resizing = some.resizing(Filling::zero, choose_24_of_32());
            const device::Tensor input = some.scattered(13, 32, 1), grad_output = some.scattered(13, 32, 2);
            Numbers masked = kernels::read_values(some.stream(), input);
            for (std::size_t i = 0; i < masked.size(); ++i) masked[i] *= is_skipped(i % 32) ? 0 : 1;
            const device::Tensor masked_input = dense.tensor(13, 32, masked);

            EXPECT_LE(
                largest_error(some.forward(input, resizing.at(place)), dense.forward(masked_input, nullptr)),
                machine.tolerance);
            Numbers grad_input = dense.backward_input(grad_output, nullptr);
            for (std::size_t i = 0; i < grad_input.size(); ++i) grad_input[i] *= is_skipped(i % 32) ? 0 : 1;
            EXPECT_LE(largest_error(some.backward_input(grad_output, resizing.at(place)), grad_input),
                      machine.tolerance);
            some.backward_weight(input, grad_output, resizing.at(place));
            dense.backward_weight(masked_input, grad_output, nullptr);
            for (std::size_t i = 0; i < some.specs().size(); ++i)
                EXPECT_LE(largest_error(some.gradient(i), dense.gradient(i)), machine.tolerance)
                    << some.specs()[i].name;
        }
    }
}

TEST(Resizing, ReducesFlopsByExactlyTheSkippedFraction) {
    for (const Family family : {Family::gpt2, model::Family::llama}) {
        const auto flops_of = [&](bool is_resized) {
            Bench bench(family, 32, {7, 16, 9}, device::Stream{device::CpuStream{}}, device::DType::f32);
            Resizing resizing = bench.resizing(Filling::zero, choose_24_of_32());
            SelectedChannels* const kept = is_resized ? resizing.at(place) : nullptr;
            const device::Tensor input = bench.scattered(13, 32, 1), grad_output = bench.scattered(13, 32, 2);
            bench.forward(input, kept);
            bench.backward_input(grad_output, kept);
            bench.backward_weight(input, grad_output, kept);
            return Numbers{bench.flops("linear"), bench.flops("linear_backward_input"),
                           bench.flops("linear_backward_weight"), bench.stream().ledger.flops()};
        };
        const Numbers dense = flops_of(false), some = flops_of(true);

        EXPECT_EQ(dense, (Numbers{2. * 13 * 32 * 32, 2. * 13 * 32 * 32, 2. * 13 * 32 * 32, 6. * 13 * 32 * 32}));
        for (std::size_t i = 0; i < dense.size(); ++i) EXPECT_EQ(some[i], (1 - 0.25) * dense[i]);
    }
}

TEST(Resizing, SkipsNothingIfAllChannelsAreKeptOrNoListIsGiven) {
    Bench bench(Family::gpt2, 3, {2});
    Resizing resizing({bench.shape()}, Filling::zero, device::DType::f64, 4, device::MemorySpace::host);

    EXPECT_EQ(resizing.at(place), nullptr);
    EXPECT_EQ(resizing.period(), 0);
    resizing.begin_period({{place, {0, 2}}});
    EXPECT_NE(resizing.at(place), nullptr);
    EXPECT_EQ(resizing.at({.block = 1, .matmul = layout::Matmul::mlp_out}), nullptr);
    resizing.begin_period({{place, {0, 1, 2}}});
    EXPECT_EQ(resizing.at(place), nullptr);
    resizing.begin_period({{place, {1}}});
    resizing.begin_period({});
    EXPECT_EQ(resizing.at(place), nullptr);
    EXPECT_EQ(resizing.period(), 4);
}

TEST(Resizing, NeedsMemoryOnlyToRepeatThePreviousGradients) {
    Bench bench(Family::gpt2, 16, {24});
    const auto byte_size = [&](Filling filling) {
        return Resizing({bench.shape()}, filling, device::DType::f64, 10, device::MemorySpace::ghost).bytes();
    };

    EXPECT_EQ(byte_size(Filling::zero), 0);
    EXPECT_EQ(byte_size(Filling::average), 0);
    EXPECT_EQ(byte_size(Filling::same), 8 * (16 * 24 + 10 * 16));
}

TEST(Resizing, RejectsListsThatAreNotAscendingChannels) {
    Bench bench(Family::gpt2, 3, {2});
    for (const List& list : {List{}, List{1, 0}, List{1, 1}, List{-1, 2}, List{0, 3}}) {
        EXPECT_EQ(validation::catch_message<BugError>([&] { bench.resizing(Filling::zero, list); }),
                  cat("a channel list of length ", list.size(), " must be ascending, not empty, and below 3"));
    }
}

TEST(Resizing, RejectsMoreRowsThanItCanRemember) {
    Bench bench(Family::gpt2, 3, {2});
    Resizing resizing = bench.resizing(Filling::same, {0, 2}, 1);

    EXPECT_EQ(validation::catch_message<BugError>([&] {
                  bench.backward_input(bench.tensor(2, 2, {1, 1, 1, 1}), resizing.at(place));
              }),
              "a micro-batch has 2 rows, but the stored input gradient has only 1 row");
}

// Tests the four projections of each block, with their input channels, in a rank's part of every model.
TEST(Projections, AreTheFourMatmulsOfEachBlock) {
    for (const ModelConfig& config : validation::make_small_models()) {
        const TensorPart part{.rank = 1, .shares = {1, 1}};
        std::vector<ProjectionShape> all;
        for (const Layer& layer : build_layers(config, part)) {
            for (const ProjectionShape& projection : list_projections(layer)) all.push_back(projection);
        }

        ASSERT_EQ(all.size(), 8);
        for (std::size_t p = 0; p < 8; ++p) {
            EXPECT_EQ(all[p].id, (ProjectionId{p / 4, static_cast<layout::Matmul>(p % 4)}));
            EXPECT_EQ(all[p].channels, (Counts{16, 8, 16, 12})[p % 4]);
            for (const ParameterSpec& weight : all[p].weights) {
                EXPECT_TRUE(weight.has_weight_decay) << weight.name;
                EXPECT_EQ(all[p].axes == kernels::WeightAxes::in_out ? weight.rows : weight.columns,
                          all[p].channels);
            }
        }
        const bool is_llama = config.family == Family::llama;
        EXPECT_EQ(all[0].outputs(), is_llama ? 8 + 2 * 4 : 3 * 8);
        EXPECT_EQ(all[1].outputs(), 16);
        EXPECT_EQ(all[2].outputs(), is_llama ? 24 : 12);
        EXPECT_EQ(all[3].outputs(), 16);
    }
}

}  // namespace
}  // namespace trireme::model
