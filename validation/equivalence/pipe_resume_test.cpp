// Runs whose layouts follow the number of frozen blocks are replayed bit for bit, and continue from checkpoints
// on any number of ranks.
#include <map>

#include "equivalence/pipe_changes.hpp"
#include "trireme/checkpoint/stored_model.hpp"

namespace trireme::equivalence {
namespace {

using checkpoint::StateField;

const std::string eight_ranks = "--pipe 8 --microbatches 8 --auto-pipe published ";

class RecordedPipeChanges : public PipeChanges {
protected:
    // Removes the first steps, and their evaluations after every tenth step.
    static Figures tail(Figures all, std::size_t steps) {
        for (std::vector<double>* values : {&all.losses, &all.norms})
            values->erase(values->begin(), values->begin() + static_cast<std::ptrdiff_t>(steps));
        all.evaluations.erase(all.evaluations.begin(),
                              all.evaluations.begin() + static_cast<std::ptrdiff_t>(steps / 10));
        return all;
    }

    static void expect_equal_plans(const std::vector<plan::Decision>& made,
                                   const std::vector<plan::Decision>& expected) {
        ASSERT_EQ(made.size(), expected.size());
        for (std::size_t d = 0; d < made.size(); ++d) {
            EXPECT_EQ(made[d].step, expected[d].step);
            EXPECT_EQ(made[d].from, expected[d].from);
            EXPECT_EQ(made[d].to, expected[d].to);
            EXPECT_EQ(made[d].frozen, expected[d].frozen);
        }
    }

    // Tensors by name and field. Frozen tensors have no moments.
    using State = std::map<std::pair<std::string, StateField>, std::vector<double>>;

    State read_state(const std::string& run, std::size_t step) const {
        const auto stored =
            checkpoint::StoredModel::open(folder_.file(run + "/checkpoints/step-" + std::to_string(step)));
        State state;
        std::vector<checkpoint::StateView> views;
        for (const checkpoint::CheckpointTensor& tensor : stored.state()->tensors) {
            for (const StateField field : {StateField::value, StateField::moment1, StateField::moment2}) {
                if (!has_field(tensor, field)) continue;
                std::vector<double>& values = state[{tensor.name, field}];
                values.resize(tensor.rows * tensor.columns);
                views.push_back(
                    {tensor.name,
                     field,
                     {{0, tensor.rows}, {0, tensor.columns}},
                     {values.data(), device::DType::f64, tensor.rows, tensor.columns, tensor.columns}});
            }
        }
        stored.read(views, 1);
        return state;
    }

    // Returns the norm of the difference, relative to the norm of the expected values.
    static double relative_difference(const std::vector<double>& values, const std::vector<double>& expected) {
        double difference = 0, all = 0;
        for (std::size_t i = 0; i < expected.size(); ++i) {
            difference += (values[i] - expected[i]) * (values[i] - expected[i]);
            all += expected[i] * expected[i];
        }
        return difference == 0 ? 0 : std::sqrt(difference / all);
    }

    static void expect_equal_states(const State& state, const State& expected) {
        EXPECT_EQ(state.size(), expected.size());
        for (const auto& [key, values] : expected) {
            const auto found = state.find(key);
            ASSERT_NE(found, state.end()) << key.first << ' ' << to_string(key.second);
            ASSERT_EQ(found->second.size(), values.size()) << key.first;
            EXPECT_LE(relative_difference(found->second, values), 1e-10)
                << key.first << ' ' << to_string(key.second);
        }
    }
};

TEST_F(RecordedPipeChanges, AreReplayedBitForBit) {
    const Figures first = trials_.run_steps(training() + rule + eight_ranks + "--auto-dp off", 8, 0);
    trials_.keep_as("first");

    const Figures again = trials_.run_steps(
        training() + "--pipe 8 --microbatches 8 --move twins --decisions first/decisions.jsonl", 8, 0);

    EXPECT_EQ(again, first);
    expect_equal_plans(decisions(), decisions("first"));
}

// The layout changes after steps 4, 8, 12 and 16. At step 8, the change follows the checkpoint.
TEST_F(RecordedPipeChanges, ContinueOnOtherRanks) {
    struct Continuation {
        std::size_t step;
        int ranks;
        const char* way;
    };
    const std::string options = training() + rule + eight_ranks + "--checkpoint-every 2";
    const Figures whole = trials_.run_steps(options, 8, 0);
    trials_.keep_as("first");
    for (const Continuation& each : {Continuation{8, 8, "--pipe 8 --microbatches 8 --auto-pipe published"},
                                     {2, 4, "--pipe 4 --microbatches 8 --auto-pipe published --auto-dp off"},
                                     {6, 1, "--pipe 1 --microbatches 1 --auto-pipe off"}}) {
        SCOPED_TRACE(testing::Message() << each.ranks << " ranks from step " << each.step);
        const std::string resumed =
            training() + rule + each.way + " --resume first/checkpoints/step-" + std::to_string(each.step);

        const Figures figures = trials_.run_steps(resumed, each.ranks, choose_mpi(each.ranks, 1));

        expect_equal(figures, tail(whole, each.step));
        if (each.ranks == 8) {
            EXPECT_EQ(figures, tail(whole, each.step));
        }
    }
}

TEST_F(RecordedPipeChanges, HaveTheStateOfASingleRankAfterEachChange) {
    const std::string options = training(gpt2_tied, in_double, 16, 18) + rule + "--checkpoint-every 1 ";
    trials_.run_steps(options, 0, 0);
    trials_.keep_as("one");
    for (const std::string way : {"--auto-dp on", "--auto-dp off --shard-optimizer off --move overlap"}) {
        SCOPED_TRACE(way);
        trials_.run_steps(options + eight_ranks + way, 8, 0);

        for (const plan::Decision& decision : decisions()) {
            SCOPED_TRACE(testing::Message() << "step " << decision.step);
            expect_equal_states(read_state("run", decision.step + 1), read_state("one", decision.step + 1));
        }
    }
}

}  // namespace
}  // namespace trireme::equivalence
