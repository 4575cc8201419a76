#include <utility>

#include "app/options/choices.hpp"
#include "app/options/options.hpp"
#include "app/options/values.hpp"

namespace trireme::app {
namespace {

Option decisions_option(config::PolicyConfig& policy) {
    return text(
        {"decisions", "FILE.jsonl",
         "plan changes to replay: the decisions.jsonl of a run, or lines such as {\"step\": 5, \"layout\": "
         "{...}}"},
        policy.decisions);
}

Option move_option(config::PolicyConfig& policy) {
    Option option = choice(
        {"move", "", "how to move parameters and optimizer state to the next plan; all ways are exact"},
        policy.move,
        {{"stop", config::MoveWay::stop, "all of it between two steps"},
         {"overlap", config::MoveWay::overlap,
          "parameters between two steps, optimizer moments during the next step"},
         {"twins", config::MoveWay::twins,
          "all of it between two steps, through staging copies in memory that the ranks of a node share"},
         {"restart", config::MoveWay::restart, "all of it through a checkpoint"}});
    return needing(std::move(option), [&policy] { return may_change_layout(policy); },
                   {"a policy that moves state", "--straggler uneven or --decisions FILE"});
}

// Options of the decisions of --straggler.
std::vector<Option> deciding_options(config::PolicyConfig& policy) {
    const auto is_uneven = [&policy] { return policy.straggler == config::StragglerPolicy::uneven; };
    return {needing(whole_number(
                        {"bridge", "STEPS", "with uneven: migrate work for STEPS steps before re-sharding"},
                        policy.bridge),
                    is_uneven, {"a policy that moves state", "--straggler uneven"}),
            needing(whole_number({"look-every", "K", "steps between two decisions of the policy"},
                                 policy.look_every, 1),
                    [&policy] { return policy.straggler != config::StragglerPolicy::off; },
                    {"a policy that observes ranks", "--straggler resize, migrate, semi or uneven"}),
            needing(whole_number(
                        {"horizon", "STEPS",
                         "steps within which a change of plan must repay its cost; 0: all remaining steps"},
                        policy.horizon),
                    is_uneven, {"a policy that moves state", "--straggler uneven"})};
}

std::vector<Option> straggler_options(config::PolicyConfig& policy) {
    return {
        named_choice({"straggler", "", "policy for slow ranks"}, policy.straggler, config::straggler_policies),
        needing(
            choice({"migrate-by", "", "how a slow rank exchanges data with its helper ranks"}, policy.spread,
                   {{"tree", layout::Spread::tree, "broadcast and reduction trees"},
                    {"direct", layout::Spread::direct, "messages between the slow rank and each helper"}}),
            [&policy] { return may_migrate(policy) || !policy.decisions.empty(); },
            {"ranks that compute for others",
             "--straggler migrate or semi, --straggler uneven with --bridge, or --decisions FILE,"}),
        needing(number({"semi-slack", "X", "fraction by which semi may lengthen a step to skip fewer channels"},
                       policy.semi_slack, {.low = 0, .high = 10}),
                [&policy] { return policy.straggler == config::StragglerPolicy::semi; },
                {"a policy that weighs pruned channels against help", "--straggler semi"}),
    };
}

std::vector<Option> resize_options(config::ResizeConfig& resize) {
    return {
        number({"resize-limit", "",
                "largest fraction of the channels of its matmuls that a slow rank skips, from 0 to 0.99"},
               resize.limit, {.low = 0, .high = 0.99}),
        named_choice({"resize-select", "", "which channels to keep"}, resize.select, config::channel_policies),
        choice({"resize-fill", "", "gradients of the skipped channels"}, resize.fill,
               {{"zero", model::Filling::zero, "zero"},
                {"average", model::Filling::average, "the mean over the kept channels"},
                {"same", model::Filling::same, "the last ones that were computed"}}),
        choice({"resize-layers", "", "how many channels each layer skips"}, resize.by_variation,
               {{"alike", false, "the same fraction in all layers"},
                {"by-variation", true, "fewer in layers whose weights change more"}}),
        choice({"resize-decay", "", "weights to which --weight-decay applies"}, resize.decays_all,
               {{"all", true, "all weights"}, {"kept", false, "the weights of the kept channels"}}),
    };
}

}  // namespace

std::vector<Option> policy_options(config::PolicyConfig& policy) {
    std::vector<Option> all{decisions_option(policy), move_option(policy)};
    for (const Option& option : straggler_options(policy)) all.push_back(option);
    for (const Option& option : deciding_options(policy)) all.push_back(option);
    for (const Option& option : resize_options(policy.resize)) {
        all.push_back(needing(option, [&policy] { return may_leave_out(policy.straggler); },
                              {"a policy that prunes channels", "--straggler resize or semi"}));
    }
    return all;
}

}  // namespace trireme::app
