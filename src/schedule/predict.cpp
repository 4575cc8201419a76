#include "trireme/schedule/predict.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "schedule/abstract_machine.hpp"
#include "schedule/message_table.hpp"
#include "trireme/base/error.hpp"
#include "trireme/schedule/check.hpp"

namespace trireme {

double Prediction::bubble() const {
    if (makespan <= 0 || busy.empty()) return 0;
    const double mean = std::accumulate(busy.begin(), busy.end(), 0.0) / static_cast<double>(busy.size());
    return 1 - mean / makespan;
}

Prediction predict(const std::vector<Program>& programs, const PipelineShape& shape,
                   const std::vector<StageCost>& costs) {
    if (costs.size() != shape.holders.size()) {
        throw BugError(cat("costs of ", costs.size(), " stages for ", shape.holders.size()));
    }
    Verdict verdict = check(programs, shape);
    if (!verdict.is_proved()) throw BugError(cat("these programs cannot run: ", verdict.fault->what));
    Prediction prediction;
    prediction.busy.resize(programs.size());
    prediction.spans.resize(programs.size());
    prediction.peak_activations = std::move(verdict.proof.peak_activations);
    const MessageTable messages(programs, shape);
    AbstractMachine machine(programs, shape, messages, costs);
    machine.run([&](int team, const Span& span) {
        const auto t = static_cast<std::size_t>(team);
        prediction.busy[t] += span.end - span.begin;
        prediction.spans[t].push_back(span);
        prediction.makespan = std::max(prediction.makespan, span.end);
    });
    return prediction;
}

}  // namespace trireme
