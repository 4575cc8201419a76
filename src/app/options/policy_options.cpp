#include <utility>

#include "app/options/choices.hpp"
#include "app/options/options.hpp"
#include "app/options/values.hpp"

namespace trireme::app {
namespace {

Option decisions_option(PolicyConfig& policy) {
    return text(
        {"decisions", "FILE.jsonl",
         "plan changes to replay: the decisions.jsonl of a run, or lines such as {\"step\": 5, \"layout\": "
         "{...}}"},
        policy.decisions);
}

Option move_option(PolicyConfig& policy) {
    Option option = choice(
        {"move", "", "how to move parameters and optimizer state to the next plan; all ways are exact"},
        policy.move,
        {{"stop", MoveWay::stop, "all of it between two steps"},
         {"overlap", MoveWay::overlap, "parameters between two steps, optimizer moments during the next step"},
         {"twins", MoveWay::twins,
          "all of it between two steps, through staging copies in memory that the ranks of a node share"},
         {"restart", MoveWay::restart, "all of it through a checkpoint"}});
    return needing(std::move(option), [&policy] { return may_change_layout(policy); },
                   {"a policy that moves state", "--straggler uneven or --decisions FILE"});
}

// Options that say how --straggler decides.
std::vector<Option> deciding_options(PolicyConfig& policy) {
    const auto is_uneven = [&policy] { return policy.straggler == StragglerPolicy::uneven; };
    return {needing(whole_number(
                        {"bridge", "STEPS", "with uneven: migrate work for STEPS steps before re-sharding"},
                        policy.bridge),
                    is_uneven, {"a policy that moves state", "--straggler uneven"}),
            needing(whole_number({"look-every", "K", "steps between two decisions of the policy"},
                                 policy.look_every, 1),
                    [&policy] { return policy.straggler != StragglerPolicy::off; },
                    {"a policy that observes ranks", "--straggler resize, migrate, semi or uneven"}),
            needing(whole_number(
                        {"horizon", "STEPS",
                         "steps within which a change of plan must repay its cost; 0: all remaining steps"},
                        policy.horizon),
                    is_uneven, {"a policy that moves state", "--straggler uneven"})};
}

std::vector<Option> straggler_options(PolicyConfig& policy) {
    return {
        named_choice({"straggler", "", "policy for slow ranks"}, policy.straggler, straggler_policies),
        needing(
            choice({"migrate-by", "", "how a slow rank exchanges data with its helper ranks"}, policy.spread,
                   {{"tree", Spread::tree, "broadcast and reduction trees"},
                    {"direct", Spread::direct, "messages between the slow rank and each helper"}}),
            [&policy] { return may_migrate(policy) || !policy.decisions.empty(); },
            {"ranks that compute for others",
             "--straggler migrate or semi, --straggler uneven with --bridge, or --decisions FILE,"}),
        needing(number({"semi-slack", "X", "fraction by which semi may lengthen a step to skip fewer channels"},
                       policy.semi_slack, {.low = 0, .high = 10}),
                [&policy] { return policy.straggler == StragglerPolicy::semi; },
                {"a policy that weighs pruned channels against help", "--straggler semi"}),
    };
}

std::vector<Option> resize_options(ResizeConfig& resize) {
    return {
        number({"resize-limit", "",
                "largest fraction of the channels of its matmuls that a slow rank skips, from 0 to 0.99"},
               resize.limit, {.low = 0, .high = 0.99}),
        named_choice({"resize-select", "", "which channels to keep"}, resize.select, channel_policies),
        choice({"resize-fill", "", "gradients of the skipped channels"}, resize.fill,
               {{"zero", Filling::zero, "zero"},
                {"average", Filling::average, "the mean over the kept channels"},
                {"same", Filling::same, "the last ones that were computed"}}),
        choice({"resize-layers", "", "how many channels each layer skips"}, resize.by_variation,
               {{"alike", false, "the same fraction in all layers"},
                {"by-variation", true, "fewer in layers whose weights change more"}}),
        choice({"resize-decay", "", "weights to which --weight-decay applies"}, resize.decays_all,
               {{"all", true, "all weights"}, {"kept", false, "the weights of the kept channels"}}),
    };
}

}  // namespace

std::vector<Option> policy_options(PolicyConfig& policy) {
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
