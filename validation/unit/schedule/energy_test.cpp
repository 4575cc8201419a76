// Tests predicted seconds and joules against an evaluator that shares nothing with the prediction: it raises
// the times of all instructions until every rule of check.hpp holds.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <vector>

#include "trireme/schedule/clocks.hpp"
#include "trireme/schedule/predict.hpp"
#include "unit/schedule/drawn_costs.hpp"
#include "unit/schedule/sound_programs.hpp"

namespace trireme::schedule {
namespace {

constexpr RandomKey energy_seed{20261201};
const std::vector<int> listed_clocks{1500, 1200, 900};

// Draws costs at each of the clocks, per stage and micro-batch of one step.
StepCosts draw_clocked_costs(const PipelineShape& shape, Draw& draw) {
    const auto draw_table = [&] {
        std::vector<std::vector<StageCost>> table;
        for (const StageCost& cost : draw_costs(shape, draw)) {
            std::vector<StageCost>& row = table.emplace_back();
            for (int m = 0; m < shape.microbatches; ++m) {
                row.push_back(cost);
                row.back().forward = 0.1 * draw.within(0, 9);
                row.back().joules = {.forward = 0.1 * draw.within(0, 9),
                                     .backward_input = 0.1 * draw.within(0, 9),
                                     .backward_weight = 0.1 * draw.within(0, 9),
                                     .step = 0.1 * draw.within(0, 9)};
            }
        }
        return StepCosts(table);
    };
    std::vector<TeamClocks> clocks;
    for (int team = 0; team < shape.teams; ++team)
        clocks.push_back({.mhz = listed_clocks, .idle_watts = {0.3, 0.2, 0.1 * draw.within(1, 5)}});
    StepCosts costs = draw_table();
    costs.add_clocks(clocks, [&](std::size_t) { return draw_table(); });
    return costs;
}

// Computes the begin and the end of each instruction of all teams.
class Evaluator {
public:
    Evaluator(const std::vector<Program>& programs, const PipelineShape& shape, const StepCosts& costs)
        : programs_(programs), shape_(shape), costs_(costs) {
        find_numbers();
        for (const Program& program : programs) ends_.emplace_back(program.size());
        while (raise_times()) {
        }
    }

    double seconds() const {
        double last = 0;
        for (const std::vector<double>& ends : ends_)
            for (const double end : ends) last = std::max(last, end);
        return last;
    }

    double joules() const {
        double sum = 0;
        for (std::size_t t = 0; t < programs_.size(); ++t) {
            const TeamClocks& clocks = costs_.clocks()[t];
            double clock_begin = 0;
            std::size_t clock = 0;
            for (std::size_t i = 0; i < programs_[t].size(); ++i) {
                const Instruction& each = programs_[t][i];
                if (is_busy(each)) sum += find_cost(t, i).find_joules(each.op);
                if (each.op != Op::set_clock) continue;
                sum += clocks.idle_watts[clock] * (ends_[t][i] - clock_begin);
                clock = find_clock(t, i + 1);
                clock_begin = ends_[t][i];
            }
            sum += clocks.idle_watts[clock] * (seconds() - clock_begin);
        }
        return sum;
    }

private:
    using Place = std::pair<std::size_t, std::size_t>;  // team and position

    static bool is_busy(const Instruction& each) { return is_compute(each.op) || each.op == Op::step; }

    // Numbers the collectives of each team and stage, the messages of each channel and the results that a
    // channel carries.
    void find_numbers() {
        for (std::size_t t = 0; t < programs_.size(); ++t) {
            std::map<std::pair<Op, int>, std::size_t> counts;
            for (std::size_t i = 0; i < programs_[t].size(); ++i) {
                const Instruction& each = programs_[t][i];
                if (each.op == Op::set_clock) continue;
                if (!has_microbatch(each.op)) {
                    step_of_[{t, i}] = counts[{each.op, each.stage}]++;
                    collectives_[{each.op, each.stage, step_of_[{t, i}]}].push_back({t, i});
                } else {
                    places_[{find_half(each.op), each.stage, each.microbatch}] = {t, i};
                }
            }
        }
        for (std::size_t t = 0; t < programs_.size(); ++t) {
            for (std::size_t i = 0; i < programs_[t].size(); ++i) {
                const Instruction& each = programs_[t][i];
                if (is_send(each.op)) channels_[{t, find_receiver(each), each.op}].push_back({t, i});
            }
        }
    }

    // The operation under which a pass is looked up: a whole backward counts as its input half.
    static Op find_half(Op op) { return op == Op::backward ? Op::backward_input : op; }

    std::size_t find_receiver(const Instruction& send) const {
        const int stage = send.stage + (send.op == Op::send_forward ? 1 : -1);
        return static_cast<std::size_t>(shape_.find_executor(stage, send.microbatch));
    }

    std::size_t find_clock(std::size_t team, std::size_t position) const {
        for (std::size_t i = position; i-- > 0;) {
            if (programs_[team][i].op != Op::set_clock) continue;
            return static_cast<std::size_t>(std::ranges::find(listed_clocks, programs_[team][i].mhz) -
                                            listed_clocks.begin());
        }
        return 0;
    }

    // The cost of a REDUCE or STEP is that of the last micro-batch of the step that the team executes.
    const StageCost& find_cost(std::size_t team, std::size_t position) const {
        const Instruction& each = programs_[team][position];
        int microbatch = each.microbatch;
        if (!has_microbatch(each.op)) {
            const int first = static_cast<int>(step_of_.at({team, position})) * shape_.microbatches;
            microbatch = first;
            for (int m = 0; m < shape_.microbatches; ++m)
                if (shape_.find_executor(each.stage, m) == static_cast<int>(team)) microbatch = first + m;
        }
        return costs_.find(each.stage, microbatch, find_clock(team, position));
    }

    double end_of(const Place& place) const { return ends_[place.first][place.second]; }

    // The end of the reductions of `stages` in a step.
    double find_reduction_end(std::size_t step, const std::vector<int>& stages) const {
        double end = 0;
        for (const int stage : stages)
            for (const Place& place : collectives_.at({Op::reduce, stage, step}))
                end = std::max(end, end_of(place) + find_cost(place.first, place.second).reduce);
        return end;
    }

    // Messages of a channel arrive in order. A message begins when it is sent and its receive is posted.
    double find_arrival(const Instruction& send) const {
        const std::size_t team = static_cast<std::size_t>(shape_.find_executor(send.stage, send.microbatch));
        double arrival = 0;
        for (const Place& place : channels_.at({team, find_receiver(send), send.op})) {
            const Instruction& each = programs_[place.first][place.second];
            const bool is_forward = each.op == Op::send_forward;
            const Place receive = places_.at({is_forward ? Op::receive_forward : Op::receive_backward,
                                              each.stage + (is_forward ? 1 : -1), each.microbatch});
            const double begin = std::max(end_of(place), end_of(receive));
            arrival = std::max(arrival, begin + costs_.find(each.stage, each.microbatch).send);
            if (each.microbatch == send.microbatch && each.stage == send.stage) break;
        }
        return arrival;
    }

    std::vector<int> list_all_stages() const {
        std::vector<int> stages(shape_.holders.size());
        std::iota(stages.begin(), stages.end(), 0);
        return stages;
    }

    double find_begin(std::size_t team, std::size_t position) const {
        const Instruction& each = programs_[team][position];
        double begin = position == 0 ? 0 : ends_[team][position - 1];
        const bool waits_for_own_stage = shape_.has_speculative_updates || shape_.updates_stages_independently;
        if (each.op == Op::validate || (each.op == Op::step && !waits_for_own_stage))
            return std::max(begin, find_reduction_end(step_of_.at({team, position}), list_all_stages()));
        if (each.op == Op::step)
            return std::max(begin, find_reduction_end(step_of_.at({team, position}), {each.stage}));
        if (each.op != Op::forward && each.op != Op::backward && each.op != Op::backward_input) return begin;
        const bool is_forward = each.op == Op::forward;
        const int from = each.stage + (is_forward ? -1 : 1);
        const bool has_input = from >= 0 && from < shape_.stages() &&
                               shape_.find_executor(from, each.microbatch) != static_cast<int>(team);
        if (!has_input) return begin;
        return std::max(
            begin, find_arrival({is_forward ? Op::send_forward : Op::send_backward, from, each.microbatch}));
    }

    bool raise_times() {
        bool is_raised = false;
        for (std::size_t t = 0; t < programs_.size(); ++t) {
            for (std::size_t i = 0; i < programs_[t].size(); ++i) {
                const Instruction& each = programs_[t][i];
                const double end = find_begin(t, i) + (is_busy(each) ? find_cost(t, i).find_time(each.op) : 0);
                is_raised |= end > ends_[t][i];
                ends_[t][i] = std::max(ends_[t][i], end);
            }
        }
        return is_raised;
    }

    const std::vector<Program>& programs_;
    const PipelineShape& shape_;
    const StepCosts& costs_;
    std::vector<std::vector<double>> ends_;
    std::map<Place, std::size_t> step_of_;  // of collectives
    std::map<std::tuple<Op, int, std::size_t>, std::vector<Place>> collectives_;
    std::map<std::tuple<Op, int, int>, Place> places_;
    std::map<std::tuple<std::size_t, std::size_t, Op>, std::vector<Place>> channels_;
};

std::vector<Program> draw_clocks(std::vector<Program> programs, Draw& draw) {
    Phases phases{.prologue = std::vector<Program>(programs.size()), .body = std::move(programs)};
    return set_clocks(std::move(phases),
                      [&](int, const Instruction&) { return listed_clocks[draw.below(listed_clocks.size())]; })
        .body;
}

TEST(Energy, EqualsThatOfAnIndependentEvaluator) {
    int validated_cases = 0;
    const std::vector<std::vector<Subject>> families{one_row(), two_rows(), uneven_stages(), two_steps(),
                                                     validated(2)};
    for (int i = 0; i < 250; ++i) {
        Draw draw(energy_seed.then(static_cast<std::uint64_t>(i)));
        const std::vector<Subject>& subjects = families[static_cast<std::size_t>(i) % families.size()];
        const Subject& subject = subjects[draw.below(subjects.size())];
        PipelineShape shape = subject.shape;
        const std::vector<Program> programs = draw_clocks(draw_sound_programs(subject, draw), draw);
        shape.slots = shape.count_microbatches() * shape.stages();  // no message waits for a buffer
        const StepCosts costs = draw_clocked_costs(shape, draw);
        validated_cases += shape.has_speculative_updates ? 1 : 0;

        const Prediction prediction = predict(programs, shape, costs);

        const Evaluator expected(programs, shape, costs);
        EXPECT_NEAR(prediction.makespan, expected.seconds(), 1e-9) << subject.name;
        EXPECT_NEAR(std::accumulate(prediction.joules.begin(), prediction.joules.end(), 0.0), expected.joules(),
                    1e-9)
            << subject.name;
    }
    EXPECT_GT(validated_cases, 20);
}

// Returns the least joules of passes, each of which runs at one clock, except for one pass that may divide its
// time between two clocks.
double search_min_joules(const std::vector<std::vector<StageCost>>& costs_by_clock, std::size_t passes,
                         double seconds) {
    const std::size_t clocks = costs_by_clock.size();
    std::size_t assignments = 1;
    for (std::size_t p = 0; p < passes; ++p) assignments *= clocks;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t assignment = 0; assignment < assignments; ++assignment) {
        double used = 0;
        double joules = 0;
        std::vector<std::size_t> clock_of_pass;
        for (std::size_t p = 0, rest = assignment; p < passes; ++p, rest /= clocks) {
            clock_of_pass.push_back(rest % clocks);
            used += costs_by_clock[rest % clocks][p].forward;
            joules += costs_by_clock[rest % clocks][p].joules.forward;
        }
        if (used > seconds + 1e-12) continue;
        least = std::min(least, joules);
        for (std::size_t p = 0; p < passes; ++p) {
            const StageCost& from = costs_by_clock[clock_of_pass[p]][p];
            for (std::size_t other = 0; other < clocks; ++other) {
                const StageCost& to = costs_by_clock[other][p];
                const double longer = to.forward - from.forward;
                if (longer <= 0) continue;
                const double fraction = std::min(1.0, (seconds - used) / longer);
                least = std::min(least, joules + fraction * (to.joules.forward - from.joules.forward));
            }
        }
    }
    return least;
}

TEST(Energy, IsLimitedByThatOfPassesThatNeverWait) {
    for (int i = 0; i < 200; ++i) {
        Draw draw(energy_seed.then(1000).then(static_cast<std::uint64_t>(i)));
        const int passes = draw.within(1, 6);
        PipelineShape shape = make_grid_shape(1, 1, 1, passes, false);
        std::vector<std::vector<StageCost>> costs_by_clock;
        for (std::size_t clock = 0; clock < listed_clocks.size(); ++clock) {
            std::vector<StageCost>& costs = costs_by_clock.emplace_back();
            for (int m = 0; m < passes; ++m) {
                StageCost& cost = costs.emplace_back();
                const double before =
                    clock == 0 ? 0 : costs_by_clock[clock - 1][static_cast<std::size_t>(m)].forward;
                cost.forward = before + 0.1 * draw.within(1, 9);
                cost.joules.forward = 0.1 * draw.within(0, 30);
            }
        }
        StepCosts costs(std::vector<std::vector<StageCost>>{costs_by_clock[0]});
        costs.add_clocks({{.mhz = listed_clocks, .idle_watts = {0.5, 0.5, 0.5}}}, [&](std::size_t clock) {
            return StepCosts(std::vector<std::vector<StageCost>>{costs_by_clock[clock]});
        });
        Phases phases{.prologue = {{}}, .body = {{}}};
        double shortest = 0;
        for (int m = 0; m < passes; ++m) {
            phases.body[0].push_back({Op::forward, 0, m});
            shortest += costs_by_clock[0][static_cast<std::size_t>(m)].forward;
        }
        const double seconds = shortest + 0.1 * draw.within(0, 40);

        const std::vector<double> least = find_min_joules(phases, shape, costs, seconds);

        const double expected =
            0.5 * seconds + search_min_joules(costs_by_clock, static_cast<std::size_t>(passes), seconds);
        EXPECT_NEAR(least.front(), expected, 1e-3 * expected);
    }
}

// A team that never waits still saves joules in instructions that take equally long at all clocks.
TEST(Energy, IsLimitedByThatOfLowClocksIfTheyCostNoTime) {
    const StageCost highest{.forward = 1, .step = 1, .joules = {.forward = 4, .step = 3}};
    const StageCost lowest{.forward = 1, .step = 1, .joules = {.forward = 2, .step = 1}};
    StepCosts costs(std::vector<StageCost>{highest});
    costs.add_clocks({{.mhz = {900, 300}, .idle_watts = {1, 0.5}}},
                     [&](std::size_t) { return StepCosts(std::vector<StageCost>{lowest}); });
    const Phases phases{.prologue = {{}}, .body = {{{Op::forward, 0, 0}, {Op::step, 0}}}};

    EXPECT_DOUBLE_EQ(find_min_joules(phases, make_grid_shape(1, 1, 1, 1), costs, 2).front(), 2 * 0.5 + 2 + 1);
}

}  // namespace
}  // namespace trireme::schedule
