// Tests every schedule on every small shape. Its programs are proved, or the error names a shape on which they
// are. They take the time and the memory that the literature states.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <regex>
#include <span>
#include <vector>

#include "error_message.hpp"
#include "trireme/base/error.hpp"
#include "trireme/schedule/catalog.hpp"
#include "trireme/schedule/check.hpp"
#include "trireme/schedule/generate.hpp"
#include "trireme/schedule/lower.hpp"
#include "trireme/schedule/predict.hpp"
#include "unit/schedule/every_shape.hpp"

namespace trireme::schedule {
namespace {

// Schedules that keep old weights are tested in pipedream_test.cpp.
std::vector<Schedule> kinds_with_one_weight() {
    std::vector<Schedule> kinds(list_schedules().begin(), list_schedules().end());
    std::erase_if(kinds, [](const Schedule& each) { return each.stashes_weights; });
    return kinds;
}

const std::vector<Schedule> kinds = kinds_with_one_weight();

// A row of a grid or, if the schedule is made for it, of a V.
struct Row {
    Schedule kind = require_schedule("gpipe");
    int pipe = 1;
    int microbatches = 1;
    int chunks = 1;

    bool is_looped() const {
        return kind == require_schedule("interleaved") || kind == require_schedule("looped-bfs");
    }
    bool is_v_shaped() const { return kind == require_schedule("zb-v") && chunks == 2; }
    // True if the schedule is made for this row.
    bool is_suited() const {
        if (kind == require_schedule("zb-v")) return is_v_shaped();
        return chunks == 1 || is_looped();
    }
    bool takes_unequal_replicas() const { return kind.shape == ScheduleShape::one_stage_per_team; }
    std::string text() const {
        return cat(kind.name, " pipe ", pipe, " micro-batches ", microbatches, " chunks ", chunks);
    }
};

// Returns how many micro-batches pass a chunk before the first of them passes the next chunk. It is the
// smallest number from `pipe` on that leaves none, or at least `pipe`, for the last group.
int group_size(const Row& row) {
    if (row.kind == require_schedule("looped-bfs")) return row.microbatches;
    if (row.microbatches < row.pipe) return row.microbatches;
    int size = row.pipe;
    while (row.microbatches % size != 0 && row.microbatches % size < row.pipe) ++size;
    return size;
}

// Returns a sufficient number of slots. If a group is larger than the pipe, results of the last team wait for
// the first team, which has not finished the group; the slots hold all that wait. ZB-H2 runs twice the number
// of forwards ahead: if weight halves are long, a team sends two results before the next team has time for one.
int enough_slots(const Row& row) {
    if (row.kind == require_schedule("zb-h2")) return 2;
    return row.is_looped() && row.chunks > 1 ? std::max(1, group_size(row) - row.pipe + 1) : 1;
}

PipelineShape make_shape(const Row& row, int replicas = 1, bool is_training = true) {
    PipelineShape shape = row.is_v_shaped()
                              ? make_v_shape(row.pipe, replicas, row.microbatches, is_training)
                              : make_grid_shape(row.pipe, replicas, row.chunks, row.microbatches, is_training);
    shape.slots = enough_slots(row);
    return shape;
}

// Returns the shape that an error names, with one chunk if it names no chunks. Throws BugError if it names no
// shape.
PipelineShape parse_advised_shape(const std::string& refusal, int microbatches, bool is_training) {
    std::smatch named;
    int data = 1;
    int chunks = 1;
    if (std::regex_search(refusal, named, std::regex("pipe (\\d+) with chunks .* use --chunks (\\d+)"))) {
        chunks = std::stoi(named[2]);
    } else if (std::regex_search(refusal, named, std::regex("--pipe (\\d+) --data (\\d+)"))) {
        data = std::stoi(named[2]);
    } else {
        throw BugError(cat("no shape is named: ", refusal));
    }
    const bool is_v = refusal.find("needs a V") != std::string::npos;
    const int pipe = std::stoi(named[1]);
    return is_v ? make_v_shape(pipe, data, microbatches, is_training)
                : make_grid_shape(pipe, data, chunks, microbatches, is_training);
}

// Visits 1..8 stages, 1..24 micro-batches and 1..3 chunks.
template <class Visit>
void for_each_row_of(const Schedule& kind, const Visit& visit) {
    for (int pipe = 1; pipe <= 8; ++pipe) {
        for (int microbatches = 1; microbatches <= 24; ++microbatches) {
            for (int chunks = 1; chunks <= 3; ++chunks) visit(Row{kind, pipe, microbatches, chunks});
        }
    }
}

template <class Visit>
void for_each_row(const Visit& visit) {
    for (const Schedule& kind : kinds) for_each_row_of(kind, visit);
}

void expect_proof_or_advice(const Row& row, const PipelineShape& shape) {
    try {
        EXPECT_EQ(fault_of(row.kind, shape), "") << row.text();
    } catch (const ConfigError& refused) {
        EXPECT_FALSE(row.is_suited()) << row.text();
        const PipelineShape allowed = parse_advised_shape(refused.what(), row.microbatches, shape.is_training);
        EXPECT_EQ(fault_of(row.kind, allowed), "") << row.text();
    }
}

TEST(EverySchedule, IsProvedOrRejectedWithAProvableShape) {
    for_each_row([](const Row& row) { expect_proof_or_advice(row, make_shape(row)); });
}

TEST(EverySchedule, IsProvedOrRejectedForForwardOnlyRuns) {
    for_each_row([](const Row& row) {
        PipelineShape shape = make_shape(row, 1, false);
        shape.slots = 1;
        expect_proof_or_advice(row, shape);
    });
}

TEST(EverySchedule, IsProvedForTwoReplicas) {
    for (const Schedule& kind : kinds) {
        for (int pipe = 1; pipe <= 4; ++pipe) {
            for (int microbatches = 1; microbatches <= 9; ++microbatches) {
                Row row = {kind, pipe, microbatches, 2};
                row.chunks = row.is_suited() ? 2 : 1;
                for (const bool is_training : {true, false}) {
                    EXPECT_EQ(fault_of(kind, make_shape(row, 2, is_training)), "") << row.text();
                }
            }
        }
    }
}

TEST(EverySchedule, IsProvedOrRejectedForUnequalReplicas) {
    const std::vector<std::vector<int>> layouts = {{2, 1}, {1, 2}, {3, 3, 2}, {1, 3, 2}, {4, 1, 3, 2}};
    for (const std::vector<int>& replicas : layouts) {
        for (int microbatches = 1; microbatches <= 13; ++microbatches) {
            for (const Schedule& kind : kinds) {
                const PipelineShape shape = make_uneven_shape(replicas, microbatches);
                const Row row = {kind, static_cast<int>(replicas.size()), microbatches};
                if (!row.takes_unequal_replicas()) {
                    const auto refused =
                        validation::catch_message<ConfigError>([&] { return generate(kind, shape); });
                    PipelineShape allowed = parse_advised_shape(refused, microbatches, true);
                    EXPECT_EQ(fault_of(kind, allowed), "") << row.text();
                } else {
                    EXPECT_EQ(fault_of(kind, shape), "") << row.text();
                    EXPECT_EQ(fault_of(kind, make_uneven_shape(replicas, microbatches, false)), "")
                        << row.text();
                }
            }
        }
    }
}

TEST(LoopedBfs, IsRejectedIfItNeedsMoreSlots) {
    const PipelineShape shape = make_grid_shape(2, 1, 2, 8);

    // Team 0 reads the results of team 1 only after its own 8 forwards. Until then one result waits at team 0
    // and one at team 1, which cannot compute a third. So one input waits at team 1 and one at team 0.
    EXPECT_EQ(fault_of(require_schedule("looped-bfs"), shape),
              "team 0 is stuck at 0F4, which waits for a free buffer for activations to team 1 "
              "(the channel has 1); team 1 is stuck at 1F2, which waits for a free buffer for "
              "activations "
              "to team 0 (the channel has 1)");
}

// The last ones are costs at which a closed form of the schedules with halves changes.
constexpr std::array cost_triples = {StageCost{1, 1, 1}, StageCost{10, 11, 9}, StageCost{2, 3, 1},
                                     StageCost{1, 2, 1}, StageCost{3, 2, 2},   StageCost{1, 1, 5},
                                     StageCost{5, 1, 1}, StageCost{1, 5, 1},   StageCost{1, 3, 2}};

// The published shapes are tested with all costs: P 2, 4, 8 and M 2P, 3P, 4P. This also applies to half as few
// micro-batches as teams.
bool takes_all_costs(const Row& row) {
    const auto [kind, pipe, microbatches, chunks] = row;
    if (chunks > 2 || (pipe != 2 && pipe != 4 && pipe != 8)) return false;
    return 2 * microbatches == pipe ||
           (microbatches % pipe == 0 && microbatches > pipe && microbatches <= 4 * pipe);
}

// All other rows are tested with one cost, for which there is a closed form.
std::span<const StageCost> make_costs(const Row& row) {
    if (takes_all_costs(row)) return cost_triples;
    return std::span(cost_triples).subspan(row.is_v_shaped() ? 0 : 1, 1);
}

struct Lowered {
    PipelineShape shape;
    Phases phases;

    explicit Lowered(const Row& row)
        : shape(apply_update_rule(row.kind, make_shape(row))),
          phases(lower_phases(generate_phases(row.kind, shape), shape)) {}

    StepTime step(const StageCost& cost) const {
        return predict_step(phases, shape, std::vector(static_cast<std::size_t>(shape.stages()), cost));
    }
    // Returns the peak per team over enough steps to know all further steps.
    std::vector<int> peak_activations() const {
        PipelineShape unrolled_shape = shape;
        unrolled_shape.steps = count_representative_steps(phases, shape.microbatches);
        return verify_programs(unroll(phases, shape, unrolled_shape.steps), unrolled_shape)
            .proof.peak_activations;
    }
};

// Returns the idle time of a schedule with halves and validated updates once the pipeline is full; empty if
// there is no closed form. With no more micro-batches in flight than teams, a team waits for the last
// micro-batch of a step to return. ZB-H1 loses there what it gains by not updating together, unless I is
// shorter than F and W.
std::optional<double> idle_of_halves(const Row& row, const StageCost& cost) {
    const auto [kind, pipe, microbatches, chunks] = row;
    const double f = cost.forward;
    const double i = cost.backward_input;
    const double w = cost.backward_weight;
    if (kind == require_schedule("zb-h1")) {
        return (pipe - 1) * (f + i) - (std::min(microbatches, pipe) - 1) * std::min(f, w);
    }
    if (microbatches >= 2 * pipe - 1) {
        if (kind == require_schedule("zb-h2")) return (pipe - 1) * std::max({0.0, f + i - 2 * w, i - f});
        if (f == i && i == w) return 0;
    }
    return std::nullopt;
}

// Returns the idle time of a team. Costs are those of a chunk. A row with fewer micro-batches than teams waits
// once more for each further chunk.
std::optional<double> idle_of(const Row& row, const StageCost& cost) {
    const double pass = cost.forward + cost.backward_input + cost.backward_weight;
    const std::string name = row.kind.name;
    if (row.kind.stashes_weights) return std::nullopt;  // see pipedream_test.cpp
    if (row.kind.splits_backward) return idle_of_halves(row, cost);
    if (name == "inter-layer") return row.microbatches * (row.pipe - 1) * pass;
    return ((row.pipe - 1) + (row.chunks - 1) * std::max(0, row.pipe - row.microbatches)) * pass;
}

// Returns the peak of a team's activations, in micro-batches of one chunk.
int peak_of(const Row& row, int team) {
    const int teams_after = row.pipe - 1 - team;
    const int all = row.microbatches * row.chunks;
    const std::string name = row.kind.name;
    if (name == "inter-layer") return 1;
    if (name == "gpipe" || name == "looped-bfs") return all;
    if (name == "1f1b" || name == "envpipe") return std::min(teams_after + 1, all);
    if (name == "zb-h1") return std::min(row.pipe, all);
    if (name == "zb-h2") return std::min(2 * row.pipe - 1, all);
    if (name == "zb-v") return std::min({2 * row.pipe, row.microbatches + 1 + team, all});
    if (row.chunks == 1) return std::min(teams_after + 1, all);  // the schedule is 1F1B
    return std::min(2 * teams_after + (row.chunks - 1) * group_size(row) + 1, all);
}

void expect_closed_form_of_time(const Row& row, const StageCost& cost, const StepTime& step) {
    const double work =
        row.microbatches * row.chunks * (cost.forward + cost.backward_input + cost.backward_weight);
    const PipelineSizes equal{.pipe = static_cast<double>(row.pipe),
                              .chunks = static_cast<double>(row.chunks),
                              .microbatches = static_cast<double>(row.microbatches)};
    EXPECT_EQ(step.compute_idle_time(0),
              row.kind.compute_idle_time(equal, cost).value_or(step.compute_idle_time(0)))
        << row.text();
    const double idle = idle_of(row, cost).value_or(step.compute_idle_time(0));
    EXPECT_EQ(step.seconds, work + idle) << row.text();
    for (int team = 0; team < row.pipe; ++team) {
        EXPECT_EQ(step.compute_idle_time(static_cast<std::size_t>(team)), idle)
            << row.text() << " team " << team;
    }
}

class ClosedForm : public testing::TestWithParam<Schedule> {};

TEST_P(ClosedForm, MatchesTheTimeAndMemoryOfTheSchedule) {
    for_each_row_of(GetParam(), [](const Row& row) {
        if (!row.is_suited()) return;
        const Lowered lowered(row);
        for (const StageCost& cost : make_costs(row)) expect_closed_form_of_time(row, cost, lowered.step(cost));

        std::vector<int> peaks;
        for (int team = 0; team < row.pipe; ++team) peaks.push_back(peak_of(row, team));
        EXPECT_EQ(lowered.peak_activations(), peaks) << row.text();
    });
}

INSTANTIATE_TEST_SUITE_P(EverySchedule, ClosedForm, testing::ValuesIn(kinds), [](const auto& kind) {
    std::string name(kind.param.name);
    std::erase(name, '-');
    return name;
});

TEST(Bubble, IsOneNinthForTwoStagesAndEightMicrobatches) {
    for (const Schedule& kind : {require_schedule("gpipe"), require_schedule("1f1b")}) {
        EXPECT_DOUBLE_EQ(Lowered({kind, 2, 8}).step({2, 3, 4}).compute_bubble(), 1.0 / 9);
    }
}

}  // namespace
}  // namespace trireme::schedule
