// Tests which elements of a model's tensors the ranks of a team hold, and how they are initialized.
#include "trireme/model/parameter.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "unit/model/small_parts.hpp"

namespace trireme::model {
namespace {

using validation::make_small_models;
using validation::specs_of;

// Per tensor: the number of times that each element is held.
using ElementCounts = std::map<std::string, std::vector<int>>;

void count(const ParameterSpec& spec, ElementCounts& counts) {
    std::vector<int>& of_tensor = counts[spec.name];
    of_tensor.resize(spec.all_rows * spec.all_columns);
    for (const auto& [box, row, column] : spec.placements) {
        for (std::size_t r = box.rows.begin; r < box.rows.end(); ++r) {
            for (std::size_t c = box.columns.begin; c < box.columns.end(); ++c) {
                ++of_tensor[r * spec.all_columns + c];
            }
        }
    }
}

bool contains_any(const std::string& name, const std::vector<std::string>& parts) {
    return std::ranges::any_of(parts,
                               [&](const std::string& part) { return name.find(part) != std::string::npos; });
}

// True for norms, and for tensors that are too small to be worth sharing: a vit's embedding, bert's head
// transform, and heads of classes and answers.
bool is_held_by_all(const std::string& name) {
    return contains_any(name, {"ln_", "norm", "Norm", "vit.embeddings", "cls.predictions.transform", "pooler",
                               "classifier", "qa_outputs"});
}

// True for biases that only one rank adds to its partial sums, and for embedding tables other than the token
// table.
bool is_held_by_first_rank(const std::string& name) {
    return contains_any(
        name, {"c_proj.bias", "output.dense.bias", "wpe", "position_embeddings", "token_type_embeddings"});
}

struct SharedModel {
    ModelConfig config;
    std::vector<std::size_t> shares;

    TensorPart part(std::size_t rank) const { return {.rank = static_cast<int>(rank), .shares = shares}; }
    std::string name() const {
        std::string text = cat(config.name, "_", to_string(config.task), config.tied ? "" : "_untied");
        for (const std::size_t share : shares) text += cat("_", share);
        return text;
    }
    friend void PrintTo(const SharedModel& trial, std::ostream* out) { *out << trial.name(); }
};

std::vector<SharedModel> every_shared_model() {
    std::vector<SharedModel> trials;
    for (const ModelConfig& config : make_small_models()) {
        for (const std::vector<std::size_t>& shares :
             std::vector<std::vector<std::size_t>>{{1, 1}, {1, 1, 1}, {5, 2, 1}, {1, 3}, {1, 1, 1, 1}}) {
            trials.push_back({config, shares});
        }
    }
    return trials;
}

class TensorRanks : public testing::TestWithParam<SharedModel> {};

TEST_P(TensorRanks, HoldEachElementOnceExceptReplicatedTensors) {
    const SharedModel& trial = GetParam();
    ElementCounts counts;
    for (std::size_t rank = 0; rank < trial.shares.size(); ++rank) {
        for (const ParameterSpec& spec : specs_of(trial.config, trial.part(rank))) count(spec, counts);
    }

    ElementCounts expected;
    for (const ParameterSpec& spec : specs_of(trial.config)) {
        const auto holders = static_cast<int>(is_held_by_all(spec.name) ? trial.shares.size() : 1);
        expected[spec.name].assign(spec.size(), holders);
    }
    EXPECT_EQ(counts, expected);
}

TEST_P(TensorRanks, HoldTensorsAddedOnceOnTheFirstRankOnly) {
    const SharedModel& trial = GetParam();
    for (std::size_t rank = 0; rank < trial.shares.size(); ++rank) {
        std::size_t found = 0;
        for (const ParameterSpec& spec : specs_of(trial.config, trial.part(rank))) {
            if (is_held_by_all(spec.name) || !is_held_by_first_rank(spec.name)) continue;
            EXPECT_EQ(rank, 0U) << spec.name;
            EXPECT_TRUE(spec.is_whole()) << spec.name;
            ++found;
        }
        const bool has_some = rank == 0 && trial.config.family != Family::llama;
        EXPECT_EQ(found > 0, has_some) << "rank " << rank;
    }
}

TEST_P(TensorRanks, HoldTheModelsParametersPlusReplicasInTotal) {
    const SharedModel& trial = GetParam();
    std::size_t sum = 0;
    for (std::size_t rank = 0; rank < trial.shares.size(); ++rank) {
        for (const ParameterSpec& spec : specs_of(trial.config, trial.part(rank))) {
            sum += spec.size();
            std::size_t in_boxes = 0;
            for (const layout::Placement& placement : spec.placements) in_boxes += placement.box.size();
            EXPECT_EQ(in_boxes, spec.size()) << spec.name;
        }
    }

    std::size_t held_by_all = 0;
    for (const ParameterSpec& spec : specs_of(trial.config)) {
        if (is_held_by_all(spec.name)) held_by_all += spec.size();
    }
    EXPECT_EQ(sum, count_parameters(trial.config) + (trial.shares.size() - 1) * held_by_all);
}

// Expects each element of a rank's part to equal, bit for bit, the same element on a single rank.
void expect_boxes_of(const ParameterSpec& spec, const device::Tensor& part, const device::Tensor& whole) {
    const auto own = part.as<float>();
    const auto all = whole.as<float>();
    for (const auto& [box, row, column] : spec.placements) {
        for (std::size_t r = 0; r < box.rows.count; ++r) {
            for (std::size_t c = 0; c < box.columns.count; ++c) {
                ASSERT_EQ(own(row + r, column + c), all(box.rows.begin + r, box.columns.begin + c))
                    << spec.name << " at " << r << ", " << c;
            }
        }
    }
}

TEST_P(TensorRanks, InitialiseParametersAsASingleRankDoes) {
    const SharedModel& trial = GetParam();
    const std::vector<ParameterSpec> whole = specs_of(trial.config);
    const ParameterTensors all(whole, device::DType::f32, device::MemorySpace::host);
    for (const device::Stream& backend : {device::Stream{.backend = device::ReferenceStream{}},
                                          device::Stream{.backend = device::CpuStream{}}}) {
        device::Stream stream = backend;
        initialize_parameters(stream, whole, all, 3);
        for (std::size_t rank = 0; rank < trial.shares.size(); ++rank) {
            const std::vector<ParameterSpec> specs = specs_of(trial.config, trial.part(rank));
            const ParameterTensors own(specs, device::DType::f32, device::MemorySpace::host);

            initialize_parameters(stream, specs, own, 3);

            for (std::size_t i = 0; i < specs.size(); ++i) {
                const auto at = std::ranges::find(whole, specs[i].name, &ParameterSpec::name);
                expect_boxes_of(specs[i], own[i], all[static_cast<std::size_t>(at - whole.begin())]);
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Models, TensorRanks, testing::ValuesIn(every_shared_model()),
                         [](const auto& trial) { return trial.param.name(); });

TEST(ParameterTensors, HoldOnlyTheRanksPart) {
    const std::vector<ParameterSpec> specs{
        cut_parameter(make_matrix_spec("matrix", 40, 32, 1), make_all_channels(40), {32, {{0, 8}, {16, 8}}}),
        make_vector_spec("vector", 3, Init::zeros)};

    const ParameterTensors tensors(specs, device::DType::f32, device::MemorySpace::host);

    EXPECT_EQ(tensors[0].columns, 16U);
    EXPECT_EQ(tensors.bytes(), (40 * 16) * sizeof(float) + 64);  // the vector has a cache line of its own
}

}  // namespace
}  // namespace trireme::model
