#include "trireme/schedule/predict.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "schedule/check/abstract_machine.hpp"
#include "schedule/check/message_table.hpp"
#include "schedule/programs/equal_rows.hpp"
#include "trireme/base/error.hpp"
#include "trireme/schedule/check.hpp"

namespace trireme::schedule {

namespace {

double bubble_of(double seconds, const std::vector<double>& busy) {
    if (seconds <= 0 || busy.empty()) return 0;
    const double mean = std::accumulate(busy.begin(), busy.end(), 0.0) / static_cast<double>(busy.size());
    return 1 - mean / seconds;
}

// Executes proved programs. Returns all fields except the peaks.
Prediction executed(const std::vector<Program>& programs, const PipelineShape& shape,
                    const std::vector<StageCost>& costs, const TeamFactors& factors) {
    Prediction prediction;
    prediction.busy.resize(programs.size());
    prediction.spans.resize(programs.size());
    const MessageTable messages(programs, shape);
    AbstractMachine machine(programs, shape, messages, costs, factors);
    machine.run([&](int team, const Span& span) {
        const auto t = static_cast<std::size_t>(team);
        prediction.busy[t] += span.end - span.begin;
        prediction.spans[t].push_back(span);
    });
    for (int team = 0; team < shape.teams; ++team) {
        prediction.makespan = std::max(prediction.makespan, machine.clock(team));
    }
    return prediction;
}

// Equal rows take the same time. Only the first one is executed.
Prediction prediction_of_rows(const FirstRow& row, const std::vector<StageCost>& costs) {
    const Prediction of_first = executed(row.programs, row.shape, costs, {});
    Prediction prediction;
    prediction.makespan = of_first.makespan;
    for (int number = 0; number < row.rows; ++number) {
        prediction.busy.insert(prediction.busy.end(), of_first.busy.begin(), of_first.busy.end());
        for (const std::vector<Span>& spans : of_first.spans) {
            std::vector<Span>& own = prediction.spans.emplace_back(spans);
            for (Span& span : own) span.instruction = row.in_row(number, span.instruction);
        }
    }
    return prediction;
}

}  // namespace

double Prediction::bubble() const { return bubble_of(makespan, busy); }
double StepTime::bubble() const { return bubble_of(seconds, busy); }

// The difference between two unrollings, both long enough to fill the pipeline, is the time of the extra steps.
StepTime predict_step(const Phases& phases, const PipelineShape& shape, const std::vector<StageCost>& costs,
                      const TeamFactors& factors) {
    const auto of_steps = [&](int steps) {
        PipelineShape many = shape;
        many.steps = steps;
        return predict(unrolled(phases, shape, steps), many, costs, factors);
    };
    const int enough = enough_steps(phases, shape.microbatches);
    const Prediction few = of_steps(enough);
    if (enough == 1) return {.seconds = few.makespan, .busy = few.busy};
    const int more = enough + shape.stages();
    const Prediction many = of_steps(enough + more);
    StepTime step{.seconds = (many.makespan - few.makespan) / more};
    for (std::size_t team = 0; team < few.busy.size(); ++team) {
        step.busy.push_back((many.busy[team] - few.busy[team]) / more);
    }
    return step;
}

Prediction predict(const std::vector<Program>& programs, const PipelineShape& shape,
                   const std::vector<StageCost>& costs, const TeamFactors& factors) {
    if (costs.size() != shape.holders.size()) {
        throw BugError(cat("costs of ", costs.size(), " stages for ", shape.holders.size()));
    }
    const std::optional<FirstRow> row = factors.empty() ? first_of_equal_rows(programs, shape) : std::nullopt;
    Verdict verdict = check(programs, shape);
    if (!verdict.is_proved()) throw BugError(cat("these programs cannot run: ", verdict.fault->what));
    Prediction prediction = row ? prediction_of_rows(*row, costs) : executed(programs, shape, costs, factors);
    prediction.peak_activations = std::move(verdict.proof.peak_activations);
    return prediction;
}

}  // namespace trireme::schedule
