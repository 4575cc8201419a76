#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "app/options/choices.hpp"
#include "app/options/options.hpp"
#include "app/options/values.hpp"

namespace trireme::app {
namespace {

Option make_decisions_option(config::PolicyConfig& policy) {
    return make_text_option(
        {"decisions", "FILE.jsonl",
         "plan changes to replay: the decisions.jsonl of a run, or lines such as {\"step\": 5, \"layout\": "
         "{...}}"},
        policy.decisions);
}

Option make_move_option(config::PolicyConfig& policy) {
    Option option = make_choice_option(
        {"move", "", "how to move parameters and optimizer state to the next plan; all methods are exact"},
        policy.move,
        {{"stop", config::MoveMethod::stop, "everything between two steps"},
         {"overlap", config::MoveMethod::overlap,
          "parameters between two steps, optimizer moments during the next step"},
         {"twins", config::MoveMethod::twins,
          "everything between two steps, through staging copies in memory that the ranks of a node share"},
         {"restart", config::MoveMethod::restart, "everything through a checkpoint"}});
    return make_conditional(std::move(option), [&policy] { return may_move_state(policy); },
                            {"plan changes that move parameters",
                             "--straggler uneven, --elastic length, --freeze or --decisions FILE,"});
}

Option make_change_times_option(config::PolicyConfig& policy) {
    return make_conditional(
        make_choice_option(
            {"change-times", "", "source of the seconds of changes of plan that the planner weighs"},
            policy.change_times,
            {{"measured", config::ChangeTimes::measured,
              "the links and the earlier changes that the run measures"},
             {"predicted", config::ChangeTimes::predicted,
              "the links of --profile, or of the simulated cluster; equal runs decide equally"}}),
        [&policy] { return may_follow_lengths(policy) || may_plan_depth(policy); },
        {"layouts that the planner chooses", "--elastic length or --elastic freeze,"});
}

// Returns the options that control when and how --straggler decides; --decisions is not one of them.
std::vector<Option> make_decision_options(config::PolicyConfig& policy) {
    const auto is_uneven = [&policy] { return policy.straggler == config::StragglerPolicy::uneven; };
    return {
        make_conditional(make_integer_option({"bridge", "STEPS",
                                              "with uneven: migrate work for STEPS steps before re-sharding"},
                                             policy.bridge),
                         is_uneven, {"a policy that re-shards the model", "--straggler uneven"}),
        make_conditional(make_integer_option({"look-every", "K", "steps between two decisions of the policy"},
                                             policy.look_every, 1),
                         [&policy] {
                             return policy.straggler != config::StragglerPolicy::off ||
                                    policy.energy != config::Energy::baseline;
                         },
                         {"a policy for slow ranks, or clocks that follow their slowness",
                          "--straggler resize, migrate, semi or uneven, or --energy uniform or envelope"}),
        make_conditional(
            make_choice_option(
                {"elastic-rule", "", "rule by which the layout follows the lengths of samples"},
                policy.elastic_rule,
                {{"ahead", config::ElasticRule::ahead, "a change must save time over the coming steps"},
                 {"published", config::ElasticRule::published,
                  "the rule of FlexPipe, which weighs the next step only"}}),
            [&policy] { return may_follow_lengths(policy); },
            {"layouts that follow the lengths of samples", "--elastic length"}),
        make_conditional(
            make_integer_option(
                {"look-ahead", "STEPS", "coming steps whose lengths a decision about the layout weighs"},
                policy.look_ahead, 1),
            [&policy] { return weighs_coming_steps(policy) || may_plan_depth(policy); },
            {"layouts that follow the lengths of coming steps", "--elastic length with --elastic-rule ahead"}),
        make_change_times_option(policy),
        make_conditional(
            make_integer_option(
                {"horizon", "STEPS",
                 "steps within which a change of plan must repay its cost; 0: all remaining steps"},
                policy.horizon),
            [&policy] {
                return policy.straggler == config::StragglerPolicy::uneven || weighs_coming_steps(policy) ||
                       may_plan_depth(policy);
            },
            {"a policy that re-shards the model",
             "--straggler uneven, --elastic length or --elastic freeze,"})};
}

std::vector<Option> make_straggler_options(config::PolicyConfig& policy) {
    return {
        make_table_option({"straggler", "", "policy for slow ranks"}, policy.straggler,
                          config::straggler_policies),
        make_conditional(
            make_choice_option(
                {"migrate-by", "", "how a slow rank exchanges data with its helper ranks"}, policy.spread,
                {{"tree", layout::Spread::tree, "broadcast and reduction trees"},
                 {"direct", layout::Spread::direct, "messages between the slow rank and each helper"}}),
            [&policy] { return may_migrate(policy) || !policy.decisions.empty(); },
            {"helper ranks",
             "--straggler migrate or semi, --straggler uneven with --bridge, or --decisions FILE,"}),
        make_conditional(
            make_number_option(
                {"semi-slack", "X", "fraction by which semi may lengthen a step to skip fewer channels"},
                policy.semi_slack, {.low = 0, .high = 10}),
            [&policy] { return policy.straggler == config::StragglerPolicy::semi; },
            {"a policy that both migrates work and prunes channels", "--straggler semi"}),
    };
}

std::vector<Option> make_resize_options(config::ResizeConfig& resize) {
    return {
        make_number_option(
            {"resize-limit", "",
             "largest fraction of the channels of its matmuls that a slow rank skips, from 0 to 0.99"},
            resize.limit, {.low = 0, .high = 0.99}),
        make_table_option({"resize-select", "", "which channels to keep"}, resize.channel_policy,
                          config::channel_policies),
        make_choice_option({"resize-fill", "", "gradients of the skipped channels"}, resize.filling,
                           {{"zero", model::Filling::zero, "zero"},
                            {"average", model::Filling::average, "the mean over the kept channels"},
                            {"same", model::Filling::same, "the last ones that were computed"}}),
        make_choice_option({"resize-layers", "", "how many channels each layer skips"},
                           resize.adapts_to_variation,
                           {{"alike", false, "the same fraction in all layers"},
                            {"by-variation", true, "fewer in layers whose weights change more"}}),
        make_choice_option({"resize-decay", "", "weights to which --weight-decay applies"},
                           resize.decays_skipped_weights,
                           {{"all", true, "all weights"}, {"kept", false, "the weights of the kept channels"}}),
    };
}

// The steps of a period, or "epoch", which is stored as 0.
Option make_freeze_every_option(std::size_t& steps) {
    return {.description = {"freeze-every", "epoch|K",
                            "period of --freeze: an epoch (the training samples are visited once), or K steps"},
            .set =
                [&steps](const Setting& setting) {
                    steps = 0;
                    if (setting.value == "epoch") return;
                    if (setting.value.find_first_not_of("0123456789") != std::string::npos)
                        refuse(setting, "epoch or a number of steps");
                    steps = parse_integer(setting, 1, std::numeric_limits<std::uint32_t>::max());
                },
            .get = [&steps] { return steps == 0 ? "epoch" : std::to_string(steps); }};
}

std::vector<Option> make_freeze_options(config::FreezeConfig& freeze) {
    std::vector<Option> all{make_table_option(
        {"freeze", "", "rule that freezes more blocks after each period; changes what the model learns"},
        freeze.rule, config::freeze_rules)};
    for (const Option& option :
         {make_number_option(
              {"freeze-alpha", "", "fraction of the trained blocks that a period may freeze, between 0 and 1"},
              freeze.alpha, make_range_between(0, 1)),
          make_freeze_every_option(freeze.every),
          make_choice_option({"freeze-thaw", "", "when the last blocks that were frozen are trained again"},
                             freeze.thaws,
                             {{"off", false, "never"},
                              {"loss", true,
                               "when the loss of an evaluation (--eval-every) exceeds 1.01 times the "
                               "lowest one so far"}})})
        all.push_back(make_conditional(option, [&freeze] { return freeze.rule != config::FreezeRule::off; },
                                       {"a rule that freezes blocks", "--freeze schedule or gradient,"}));
    all.push_back(make_table_option({"auto-pipe", "", "how the layout follows the number of frozen blocks"},
                                    freeze.auto_pipe, config::auto_pipe_choices));
    all.push_back(make_on_off_option({"auto-dp", "",
                                      "ranks that --auto-pipe frees hold more replicas; otherwise they stay "
                                      "idle. If unset, on with --auto-pipe"},
                                     freeze.auto_dp));
    all.push_back(make_choice_option(
        {"batch-policy", "", "number of samples of a step when --auto-pipe changes the number of pipelines"},
        freeze.batch_policy,
        {{"fixed", config::BatchPolicy::fixed, "--batch: exact, as if the layout had not changed"},
         {"grow", config::BatchPolicy::grow,
          "each pipeline keeps its samples, and the learning rate grows in proportion (PipeTransformer)"}}));
    return all;
}

std::vector<Option> make_cache_options(config::CacheConfig& cache) {
    return {
        make_table_option({"cache", "",
                           "outputs of the frozen layers per sample, in memory that the ranks of a node "
                           "share"},
                          cache.mode, config::cache_modes),
        make_conditional(make_size_option({"cache-memory", "",
                                           "limit of the cache per node; 0: half of the memory that the node "
                                           "has left. Samples beyond the limit are computed in every epoch"},
                                          cache.memory_bytes, 0),
                         [&cache] { return cache.mode != config::CacheMode::off; }, {"a cache", "--cache on"}),
        make_integer_option({"sample-homes", "",
                             "number of groups into which the training samples are divided; with the number of "
                             "nodes, each node trains its own group, so that its cache has these samples. Each "
                             "step takes equally many samples from each group"},
                            cache.sample_homes, 1)};
}

// With `freeze` or `both`, also sets --freeze and --auto-pipe, unless they were set before.
Option make_elastic_option(config::PolicyConfig& policy) {
    Option option = make_choice_option(
        {"elastic", "", "what may differ between steps"}, policy.elastic,
        {{"off", config::Elastic::off, "nothing but the micro-batches"},
         {"length", config::Elastic::length,
          "the layout, recomputation and offload: they follow the lengths of samples, and each step fits into "
          "memory"},
         {"freeze", config::Elastic::freeze,
          "the frozen blocks, and the layout, which follows them: sets --freeze schedule and --auto-pipe on, "
          "unless they are set"},
         {"both", config::Elastic::both, "length and freeze together"}});
    option.set = [set = option.set, &policy](const Setting& setting) {
        set(setting);
        if (policy.elastic != config::Elastic::freeze && policy.elastic != config::Elastic::both) return;
        config::FreezeConfig& freeze = policy.freeze;
        if (freeze.rule == config::FreezeRule::off) freeze.rule = config::FreezeRule::schedule;
        if (freeze.auto_pipe == config::AutoPipe::off) freeze.auto_pipe = config::AutoPipe::on;
    };
    return option;
}

}  // namespace

std::vector<Option> make_elastic_options(config::PolicyConfig& policy) {
    return {make_elastic_option(policy),
            make_conditional(
                make_list_option(
                    {"elastic-means", "", "means by which steps follow the lengths; all if unset"},
                    policy.elastic_means,
                    {{"layout", config::ElasticMeans::layout,
                      "the number of stages, their layers and their replicas change between steps"},
                     {"recompute", config::ElasticMeans::recompute, "micro-batches recompute activations"},
                     {"offload", config::ElasticMeans::offload,
                      "optimizer state leaves the memory during the step"}}),
                [&policy] { return is_elastic_by_length(policy); },
                {"steps that follow the lengths of samples", "--elastic length"})};
}

std::vector<Option> make_policy_options(config::PolicyConfig& policy) {
    std::vector<Option> all{make_decisions_option(policy), make_move_option(policy)};
    for (const Option& option : make_straggler_options(policy)) all.push_back(option);
    for (const Option& option : make_decision_options(policy)) all.push_back(option);
    for (const Option& option : make_freeze_options(policy.freeze)) all.push_back(option);
    for (const Option& option : make_cache_options(policy.cache)) all.push_back(option);
    for (const Option& option : make_resize_options(policy.resize)) {
        all.push_back(make_conditional(option, [&policy] { return may_skip_channels(policy.straggler); },
                                       {"a policy that prunes channels", "--straggler resize or semi,"}));
    }
    return all;
}

}  // namespace trireme::app
