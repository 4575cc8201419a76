// A step that is repeated with checks leaves the run unchanged. All ranks name the same origin of a non-finite
// value.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ranks/run/started_run.hpp"
#include "run/divergence.hpp"
#include "trireme/comm/collectives.hpp"
#include "trireme/rank/non_finite.hpp"

namespace trireme::run {
namespace {

using validation::StartedRun;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

class RepeatedStep : public StartedRun {
protected:
    RepeatedStep() : StartedRun({5, 4, 3, 9, 4, 3, 5, 4}) {
        config_.model.width = 16;
        config_.model.heads = 4;
        config_.model.positions = 12;
        config_.model.dropout = 0.1;
        config_.precision.device = config::DeviceKind::cpu;
        config_.schedule.microbatches = 2;
        config_.run.on_nan = config::OnNan::stop;
    }

    // Starts a run with up to four stages; further ranks form replicas.
    void lay_out(const std::string& schedule) {
        config_.schedule.schedule = schedule;
        config_.layout.pipe = std::min(session_.size(), 4);
        config_.layout.data = session_.size() / config_.layout.pipe;
        start();
    }

    records::StepOutcome step(std::size_t number) {
        trainer_->begin_segment(number, number + 1);
        return trainer_->step().front();
    }

    std::vector<double> train(bool repeats) {
        start_again();
        std::vector<double> losses;
        for (std::size_t number = 0; number < 3; ++number) {
            losses.push_back(step(number).loss);
            if (!repeats) continue;
            const std::string found = describe_first_finding(*control_, trainer_->repeat_with_checks(number));
            EXPECT_EQ(found, "") << "step " << number;
        }
        return losses;
    }

    // Sets an element of a parameter if this rank holds the parameter.
    void set_parameter(const std::string& name, std::size_t row, double value) {
        const stage::LocalParameters& held = *trainer_->state_destination().parameters;
        const auto has_name = [&](const model::ParameterSpec& spec) { return spec.name == name; };
        if (std::ranges::none_of(held.specs(), has_name)) return;
        held.values()[held.find_index(name)].as<float>()(row, 0) = static_cast<float>(value);
    }

    // Finds the origin as `train` does, and expects the same report on every rank.
    std::string locate(records::StepOutcome& outcome) {
        Divergence divergence(config_.run.on_nan);
        divergence.find_cause(outcome, setup_->current.plan, *trainer_, *control_, nullptr);
        for (const std::string& said : all_gather(*control_, outcome.first_non_finite))
            EXPECT_EQ(said, outcome.first_non_finite);
        return outcome.first_non_finite;
    }

    int find_rank(std::size_t stage, int microbatch) const {
        const schedule::PipelineShape& shape = setup_->current.plan.training.shape;
        const int team = shape.find_executor(static_cast<int>(stage), microbatch);
        return setup_->current.plan.teams[static_cast<std::size_t>(team)].ranks.front();
    }
};

TEST_F(RepeatedStep, ChangesNothingAndReportsNothingIfAllIsFinite) {
    for (const char* const schedule : {"1f1b", "gpipe", "zb-h1"}) {
        SCOPED_TRACE(schedule);
        lay_out(schedule);

        const std::vector<double> repeating = train(true);

        EXPECT_EQ(repeating, train(false));
    }
}

TEST_F(RepeatedStep, ChangesNothingWithTensorParallelism) {
    if (session_.size() % 2 != 0) GTEST_SKIP() << "an odd number of ranks";
    config_.layout.tensor = 2;
    config_.layout.data = session_.size() / 2;
    start();

    const std::vector<double> repeating = train(true);

    EXPECT_EQ(repeating, train(false));
}

TEST_F(RepeatedStep, NamesTheRankAndLayerOfANaNParameter) {
    for (const char* const schedule : {"1f1b", "zb-h1"}) {
        SCOPED_TRACE(schedule);
        lay_out(schedule);
        const std::string name = "transformer.h.1.mlp.c_fc.weight";
        set_parameter(name, 2, nan);
        std::size_t stage = 0;
        while (setup_->current.plan.layout.stages[stage].layers.end() <= 4)
            ++stage;  // layer 4 is the second block's MLP

        records::StepOutcome outcome = step(0);

        EXPECT_TRUE(outcome.is_skipped);
        EXPECT_EQ(locate(outcome), cat("first non-finite value: rank ", find_rank(stage, 0), " (stage ", stage,
                                       "), layer transformer.h.1.mlp, micro-batch 0, forward: output of linear "
                                       "is nan at [0, 0] because "
                                       "its weight, parameter ",
                                       name, ", is nan at [2, 0]"));
    }
}

TEST_F(RepeatedStep, NamesTheKernelThatOverflows) {
    lay_out("1f1b");
    set_parameter("transformer.ln_f.weight", 0, 1e38);
    set_parameter("transformer.ln_f.bias", 0, 3e38);
    const std::size_t last = setup_->current.plan.layout.stages.size() - 1;

    records::StepOutcome outcome = step(0);

    const std::string said = locate(outcome);
    EXPECT_EQ(
        said.rfind(cat("first non-finite value: rank ", find_rank(last, 0), " (stage ", last, "), layer "), 0),
        0U)
        << said;
    EXPECT_NE(said.find("is inf at"), std::string::npos) << said;
    EXPECT_NE(said.find("although its inputs are finite"), std::string::npos) << said;
}

// The longest sample is alone in its micro-batch.
TEST_F(RepeatedStep, NamesTheMicrobatchOfTheFirstNaN) {
    config_.schedule.microbatches = 8 / static_cast<std::size_t>(std::max(1, session_.size() / 4));
    lay_out("1f1b");
    const std::vector<data::Sample>& samples = setup_->job.samples.train;
    const auto visits = data::Sampler(samples.size(), config_.run.seed).list_visits(0, config_.run.batch);
    const auto longest = std::ranges::max_element(
        visits, {}, [&](const plan::SampleVisit& visit) { return samples[visit.sample].length; });
    const auto microbatch = static_cast<int>(longest - visits.begin());
    set_parameter("transformer.wpe.weight", samples[longest->sample].length - 1, nan);

    records::StepOutcome outcome = step(0);

    const std::string said = locate(outcome);
    EXPECT_EQ(said.rfind(cat("first non-finite value: rank ", find_rank(0, microbatch),
                             " (stage 0), layer embedding, micro-batch ", microbatch, ", forward: output of "),
                         0),
              0U)
        << said;
    EXPECT_NE(said.find("transformer.wpe.weight"), std::string::npos) << said;
}

TEST_F(RepeatedStep, IsRejectedIfParametersHaveChanged) {
    if (session_.size() > 4) GTEST_SKIP() << "replicas of more than four stages";
    config_.model.tied = false;
    lay_out("pipedream");
    set_parameter("transformer.h.0.ln_1.weight", 0, nan);

    records::StepOutcome outcome = step(0);

    EXPECT_EQ(locate(outcome).rfind("the step cannot be repeated, because schedule pipedream has updated", 0),
              0U)
        << outcome.first_non_finite;
}

}  // namespace
}  // namespace trireme::run
