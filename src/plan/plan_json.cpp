#include "plan/layout_json.hpp"
#include "trireme/base/sha256.hpp"
#include "trireme/plan/plan.hpp"

namespace trireme::plan {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t hash_digits = 16;

// Returns a list with the text of each program.
Json to_json_values(const std::vector<schedule::Program>& programs) {
    Json values = Json::array();
    for (const schedule::Program& program : programs) values.push_back(to_string(program));
    return values;
}

// Programs whose steps are independent omit "prologue", "updates_alone" and "validates". These keys were
// added later, and the hashes of older plans must not change.
Json to_json_value(const ProvedPrograms& proved) {
    Json value{{"slots", proved.shape.slots}, {"programs", to_json_values(proved.programs)}};
    if (!proved.shape.extra_forwards.empty()) value["extra_forwards"] = proved.shape.extra_forwards;
    if (proved.are_steps_independent()) return value;
    value["prologue"] = to_json_values(proved.prologue);
    value["updates_alone"] = proved.shape.updates_stages_independently;
    if (proved.shape.has_speculative_updates) value["validates"] = true;
    return value;
}

}  // namespace

std::string to_json(const Plan& plan) {
    Json recompute = Json::array();
    for (const Recompute stage_recompute : plan.recompute) recompute.push_back(to_string(stage_recompute));
    Json value{{"layout", to_json_value(plan.layout)},
               {"recompute", recompute},
               {"cuts_rows", plan.cuts_rows},
               {"shards_optimizer", plan.shards_optimizer},
               {"schedule", plan.schedule},
               {"micro_batches", plan.microbatches()},
               {"training", to_json_value(plan.training)},
               {"evaluation", to_json_value(plan.evaluation)}};
    if (plan.frozen != 0) value["frozen"] = plan.frozen;
    if (!plan.skipped.empty()) value["left_out"] = plan.skipped;
    if (!plan.migrations.empty()) {
        value["migrations"] = to_json_value(plan.migrations);
        value["spread"] = plan.spread == layout::Spread::tree ? "tree" : "direct";
    }
    return value.dump();
}

std::string compute_hash(const Plan& plan) { return sha256_hex(to_json(plan)).substr(0, hash_digits); }

}  // namespace trireme::plan
