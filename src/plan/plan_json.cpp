#include "plan/layout_json.hpp"
#include "trireme/base/sha256.hpp"
#include "trireme/plan/plan.hpp"

namespace trireme::plan {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t hash_digits = 16;

Json texts_of(const std::vector<schedule::Program>& programs) {
    Json texts = Json::array();
    for (const schedule::Program& program : programs) texts.push_back(to_string(program));
    return texts;
}

// Synchronous schedules keep their original form, so that the hashes of their plans do not change.
Json json_value_of(const ProvedPrograms& proved) {
    Json value{{"slots", proved.shape.slots}, {"programs", texts_of(proved.programs)}};
    if (proved.ends_with_step()) return value;
    value["prologue"] = texts_of(proved.prologue);
    value["updates_alone"] = proved.shape.updates_alone;
    if (proved.shape.validates) value["validates"] = true;
    return value;
}

}  // namespace

std::string json_of(const Plan& plan) {
    Json recompute = Json::array();
    for (const Recompute way : plan.recompute) recompute.push_back(name_of(way));
    Json value{{"layout", json_value_of(plan.layout)},
               {"recompute", recompute},
               {"cuts_rows", plan.cuts_rows},
               {"shards_optimizer", plan.shards_optimizer},
               {"schedule", plan.schedule},
               {"micro_batches", plan.microbatches()},
               {"training", json_value_of(plan.training)},
               {"evaluation", json_value_of(plan.evaluation)}};
    if (!plan.left_out.empty()) value["left_out"] = plan.left_out;
    if (!plan.migrations.empty()) {
        value["migrations"] = json_value_of(plan.migrations);
        value["spread"] = plan.spread == layout::Spread::tree ? "tree" : "direct";
    }
    return value.dump();
}

std::string hash_of(const Plan& plan) { return sha256_hex(json_of(plan)).substr(0, hash_digits); }

}  // namespace trireme::plan
