// A model with helper ranks sends exactly the messages of its helped projections more: see help_formula.hpp.
#include "ranks/model/help_formula.hpp"
#include "ranks/model/stage_run.hpp"
#include "unit/stage/small_models.hpp"

namespace trireme::model {
namespace {

using validation::CountingGroup;
using validation::expected_traffic;
using validation::HelperTraffic;
using validation::Migrations;
using validation::offloaded_by;
using validation::run_in_team;
using validation::Sent;

// A whole model. Its embedding and head also send messages. It runs with sequence parallelism (own rows) and
// without.
class RebalancedStage : public HelperTraffic, public testing::WithParamInterface<Family> {
protected:
    RebalancedStage() {
        for (const stage::SmallModel& model : stage::list_small_models()) {
            if (model.family == GetParam()) config_ = config_of(model);
        }
        config_.width = 96;
        config_.mlp_width = 96;
        config_.heads = 8;
        if (GetParam() == Family::llama) config_.groups = 4;
    }

    Sent sent_in_training(const Migrations& migrations, bool cuts_rows) {
        device::Stream stream{.backend = device::ReferenceStream{}};
        CountingGroup counting(world_);
        const stage::TokenRows texts(std::array{stage::make_sample(config_, 3, rows)});
        run_in_team(stream, {.config = config_, .layers = all_layers(), .rows = texts},
                    {.ranks = counting,
                     .shares = shares_,
                     .cuts_rows = cuts_rows,
                     .lists = {},
                     .migrations = migrations});
        return of_all_ranks(counting.sent());
    }

    // Returns the traffic of all helped projections, plus one list of channels per helper.
    Sent expected_for(const Migrations& migrations) const {
        Sent expected{migrations.size(), 0};
        for (int owner = 0; owner < ranks(); ++owner) {
            const TensorPart part{.rank = owner, .shares = shares_};
            for (const Layer& layer : build_layers(config_, part)) {
                for (const ProjectionShape& shape : list_projections(layer)) {
                    const layout::Matmul matmul = shape.id.matmul;
                    const bool reads_all =
                        matmul == layout::Matmul::attention_in || matmul == layout::Matmul::mlp_in;
                    const auto counts = offloaded_by(migrations, owner, shape);
                    expected += expected_traffic(reads_all ? InputSharding::replicated : InputSharding::sharded,
                                                 shape, counts, rows)
                                    .sum();
                    for (const std::size_t channels : counts) expected.bytes += 4 * channels;
                }
            }
        }
        return expected;
    }

private:
    static constexpr std::size_t rows = 5;

    layout::Range all_layers() const { return {0, build_layers(config_).size()}; }

    ModelConfig config_;
    std::vector<std::size_t> shares_ = std::vector<std::size_t>(static_cast<std::size_t>(ranks()), 1);
};

TEST_P(RebalancedStage, AddsOnlyTheTrafficOfItsHelpedProjections) {
    for (const bool cuts_rows : {false, true}) {
        const Sent without = sent_in_training({}, cuts_rows);
        for (const Migrations& migrations : every_migrations()) {
            SCOPED_TRACE(cat(migrations.size(), " migrations", cuts_rows ? ", own rows" : ""));
            EXPECT_EQ(sent_in_training(migrations, cuts_rows) - without, expected_for(migrations));
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Families, RebalancedStage, testing::Values(Family::gpt2, Family::llama),
                         [](const auto& family) { return std::string(to_string(family.param)); });

}  // namespace
}  // namespace trireme::model
