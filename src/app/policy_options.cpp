#include "app/policy_options.hpp"

#include <utility>

#include "app/values.hpp"

namespace trireme::app {
namespace {

Option decisions_option(PolicyConfig& policy) {
    return text(
        {"decisions", "FILE.jsonl",
         "when the plan changes, and to what: a run's decisions.jsonl, or lines of {\"step\": 5, \"layout\": "
         "{...}}"},
        policy.decisions);
}

Option move_option(PolicyConfig& policy) {
    Option option = choice(
        {"move", "",
         "parameters and moments to the next plan: between two steps, by messages or by memory that the ranks "
         "of a node share; the moments beside the second step; or all through a checkpoint"},
        policy.move,
        {{"stop", MoveWay::stop},
         {"overlap", MoveWay::overlap},
         {"twins", MoveWay::twins},
         {"restart", MoveWay::restart}});
    return needing(std::move(option), [&policy] { return may_change_layout(policy); },
                   {"a policy that moves state", "--straggler uneven or --decisions FILE"});
}

// Options that say how --straggler decides.
std::vector<Option> deciding_options(PolicyConfig& policy) {
    const auto is_uneven = [&policy] { return policy.straggler == StragglerPolicy::uneven; };
    return {
        needing(
            whole_number(
                {"bridge", "STEPS",
                 "with uneven: so long others compute a part of a slow rank's products, before shares move"},
                policy.bridge),
            is_uneven, {"a policy that moves state", "--straggler uneven"}),
        needing(whole_number({"look-every", "K", "steps between two looks at what was observed, to decide by"},
                             policy.look_every, 1),
                [&policy] { return policy.straggler != StragglerPolicy::off; },
                {"a policy that observes ranks", "--straggler resize, migrate, semi or uneven"}),
        needing(whole_number(
                    {"horizon", "STEPS", "in which a change of plan has to repay; 0: in all that are left"},
                    policy.horizon),
                is_uneven, {"a policy that moves state", "--straggler uneven"})};
}

std::vector<Option> straggler_options(PolicyConfig& policy) {
    return {
        choice({"straggler", "",
                "ranks that are slower than others: nothing; others of their team compute a part of their "
                "products, or they get shares in proportion to their speed, which change no loss; a part of "
                "their products is left out, which does; or (semi) what others cannot compute in time is"},
               policy.straggler,
               {{"off", StragglerPolicy::off},
                {"resize", StragglerPolicy::resize},
                {"migrate", StragglerPolicy::migrate},
                {"semi", StragglerPolicy::semi},
                {"uneven", StragglerPolicy::uneven}}),
        needing(
            choice({"migrate-by", "",
                    "how a slow rank tells its helpers, and they add up for it: in rounds, each twice as many; "
                    "or each with it alone"},
                   policy.spread, {{"tree", Spread::tree}, {"direct", Spread::direct}}),
            [&policy] { return may_migrate(policy) || !policy.decisions.empty(); },
            {"ranks that compute for others",
             "--straggler migrate or semi, --straggler uneven with --bridge, or --decisions FILE,"}),
        needing(number({"semi-slack", "PART",
                        "the part of a step that semi may make it longer than it could be, to leave out less"},
                       policy.semi_slack, {.low = 0, .high = 10}),
                [&policy] { return policy.straggler == StragglerPolicy::semi; },
                {"a policy that weighs pruned channels against help", "--straggler semi"}),
    };
}

std::vector<Option> resize_options(ResizeConfig& resize) {
    return {
        number({"resize-limit", "", "the part of its products that a slow rank leaves out at most"},
               resize.limit, {.low = 0, .high = 0.99}),
        choice(
            {"resize-select", "",
             "the channels that are kept: those whose weights vary most, some drawn anew each time, or those "
             "side by side that vary most together"},
            resize.select,
            {{"priority", ChannelPolicy::priority},
             {"random", ChannelPolicy::random},
             {"window", ChannelPolicy::window}}),
        choice({"resize-fill", "",
                "gradients of channels that are left out: none, the mean of the others, or the last ones there "
                "were"},
               resize.fill, {{"zero", Filling::zero}, {"average", Filling::average}, {"same", Filling::same}}),
        choice({"resize-layers", "",
                "how much each layer leaves out: all as much, or less where weights vary more"},
               resize.by_variation, {{"alike", false}, {"by-variation", true}}),
        choice({"resize-decay", "", "weights that --weight-decay makes smaller: all, or those that were kept"},
               resize.decays_all, {{"all", true}, {"kept", false}}),
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
