#include "tools/plan/steps_json.hpp"

#include <utility>

#include "trireme/records/run_records.hpp"

namespace trireme::tools {
namespace {

using Json = nlohmann::ordered_json;

// Returns a list with one object per micro-batch. The lists "replicas" and "seconds" of a micro-batch have one
// entry per stage: the index of the replica that executes the micro-batch, and the time of its passes.
Json list_microbatches(const StepForecast& step) {
    Json microbatches = Json::array();
    for (std::size_t m = 0; m < step.microbatches.size(); ++m) {
        Json replicas = Json::array();
        Json seconds = Json::array();
        for (std::size_t s = 0; s < step.pass_seconds.size(); ++s) {
            replicas.push_back(step.replicas[s][m]);
            seconds.push_back(step.pass_seconds[s][m]);
        }
        microbatches.push_back({{"samples", step.microbatches[m].samples},
                                {"rows", step.microbatches[m].rows},
                                {"replicas", std::move(replicas)},
                                {"seconds", std::move(seconds)}});
    }
    return microbatches;
}

// Returns the object "elastic" of a line of steps.jsonl.
Json make_elastic_json(const records::ElasticDecision& decision) {
    records::StepLine line;
    line.elastic = decision;
    return records::to_json(line).at("elastic");
}

}  // namespace

nlohmann::ordered_json list_steps(const Forecast& forecast) {
    Json steps = Json::array();
    for (const StepForecast& step : forecast.steps) {
        Json line{
            {"step", steps.size() + 1}, {"seconds", step.seconds}, {"bytes", step.memory.predicted_bytes}};
        if (forecast.is_elastic) {
            line["limit_bytes"] = step.memory.limit_bytes;
            line["deficit_bytes"] = step.memory.deficit_bytes;
            line["recomputed_bytes"] = step.memory.recomputed_bytes;
            line["offloaded_bytes"] = step.memory.offloaded_bytes;
        }
        if (step.memory.recompute) line["recompute"] = to_string(*step.memory.recompute);
        if (step.elastic) line["elastic"] = make_elastic_json(*step.elastic);
        line["micro_batches"] = list_microbatches(step);
        steps.push_back(std::move(line));
    }
    return steps;
}

}  // namespace trireme::tools
