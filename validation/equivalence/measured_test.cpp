// Layouts that are cut by measured costs have the results of a single rank. The measurements are synthetic:
// each layer costs more than the one before, so that every cut differs from the default one.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "equivalence/trials.hpp"
#include "messages/program.hpp"
#include "scratch_folder.hpp"
#include "trireme/setup/planning.hpp"
#include "trireme/setup/setup.hpp"
#include "unit/app/arguments.hpp"
#include "unit/plan/small_profile.hpp"

namespace trireme::equivalence {
namespace {

struct Way {
    const char* options;
    int ranks;
};

class MeasuredLayouts : public testing::TestWithParam<const char*> {
protected:
    plan::Plan plan_of(const std::string& options, int ranks) const {
        return setup::set_up(config_of(options), ranks).current.plan;
    }

    // Returns the configuration of a run, with the file paths of the trials' folder.
    config::RunConfig config_of(const std::string& options) const {
        config::RunConfig config =
            std::get<app::TrainCommand>(app::parse("train --steps 20 " + options)).config;
        config.data.corpus = folder_.file(config.data.corpus);
        for (config::ProfileFile& each : config.costs.profiles) each.path = folder_.file(each.path);
        return config;
    }

    // Writes a profile of the model of `one_`, and one of a device that takes four times as long. Links are
    // slow enough for gradient reductions to take time.
    void write_profiles() const {
        const std::vector<model::Layer> layers =
            build_layers(setup::set_up(config_of(training_options(one_)), 1).job.model);
        const bool is_double = one_[Factor::precision] == 0;
        plan::Profile profile = validation::small_profile(layers.size());
        profile.dtype = is_double ? "f64" : "f32";
        profile.links = {{.link = {.latency = 0, .bandwidth = 300}}};
        for (std::size_t l = 0; l < layers.size(); ++l) {
            plan::LayerProfile& layer = profile.layers[l];
            layer.name = find_kind(layers[l]);
            layer.parameters = 0;
            for (const model::ParameterSpec& spec : list_parameters(layers[l])) {
                layer.parameters += spec.size() * (is_double ? 8 : 4);
            }
        }
        std::ofstream(folder_.file("profile.json")) << to_json(profile);
        std::ofstream(folder_.file("slow.json")) << to_json(validation::slower(profile, 4));
    }

    void expect_single_rank_results(const Way& way, const std::string& partition) {
        const std::string options = training_options(one_) + " " + way.options + partition;
        const std::size_t many_ranks = messages::programs() - 1;
        const Difference apart =
            difference(trials_.run(options, way.ranks, many_ranks), trials_.one_rank(one_));
        EXPECT_TRUE(is_within_tolerance(apart, one_))
            << to_string(apart) << " from a single rank's with " << options;
    }

    validation::ScratchFolder folder_;
    Trials trials_{folder_.file("")};
    const Case one_ = parse_case(GetParam());
};

std::vector<layout::Range> list_layers(const layout::Layout& layout) {
    std::vector<layout::Range> ranges;
    for (const layout::StageLayout& stage : layout.stages) ranges.push_back(stage.layers);
    return ranges;
}

// True if the numbers of replicas differ between stages, so the layout is not a grid.
bool has_uneven_replicas(const layout::Layout& layout) {
    return std::ranges::any_of(layout.stages, [&](const layout::StageLayout& stage) {
        return stage.replicas.size() != layout.stages.front().replicas.size();
    });
}

TEST_P(MeasuredLayouts, MatchASingleRank) {
    const std::string measured = " --partition measured --profile profile.json";
    write_profiles();
    for (const Way& way :
         {Way{"--pipe 2 --data 2 --tensor 2 --microbatches 3", 8},
          Way{"--pipe 2 --chunks 2 --schedule interleaved --microbatches 4 --recompute full", 2},
          Way{"--pipe 3 --schedule auto --microbatches 5 --length pack", 3}}) {
        const std::string options = training_options(one_) + " " + way.options;

        EXPECT_NE(list_layers(plan_of(options + measured, way.ranks).layout),
                  list_layers(plan_of(options, way.ranks).layout));
        expect_single_rank_results(way, measured);
    }
}

TEST_P(MeasuredLayouts, MatchASingleRankWithDifferentDevices) {
    struct Devices {
        Way way;
        const char* profiles;
    };
    const std::string measured = " --partition measured --profile ";
    write_profiles();
    for (const auto& [way, profiles] :
         {Devices{{"--pipe 2 --data 2 --tensor 2 --microbatches 3", 8}, "0-3=profile.json,4-7=slow.json"},
          Devices{{"--pipe 2 --data 2 --tensor 2 --microbatches 3", 8}, "profile.json,1=slow.json"},
          Devices{{"--pipe 3 --schedule auto --microbatches 5 --length pack", 3},
                  "0=slow.json,1-2=profile.json"}}) {
        const std::string options = training_options(one_) + " " + way.options + measured;

        EXPECT_NE(list_layers(plan_of(options + profiles, way.ranks).layout),
                  list_layers(plan_of(options + "profile.json", way.ranks).layout))
            << options << profiles;
        expect_single_rank_results(way, measured + profiles);
    }
}

TEST_P(MeasuredLayouts, MatchASingleRankWithPipedreamPartitions) {
    const std::string pipedream = " --partition pipedream --profile profile.json";
    write_profiles();
    for (const Way& way :
         {Way{"--microbatches 8 --length pack", 5}, Way{"--microbatches 9 --schedule auto", 8}}) {
        const layout::Layout layout =
            plan_of(training_options(one_) + " " + way.options + pipedream, way.ranks).layout;

        EXPECT_TRUE(has_uneven_replicas(layout)) << to_string(layout);
        expect_single_rank_results(way, pipedream);
    }
}

constexpr std::array kinds{"model=gpt2-tied precision=f64", "model=llama-untied precision=f32"};

std::string name_of_kind(const testing::TestParamInfo<const char*>& info) {
    return info.index == 0 ? "Gpt2TiedInDouble" : "LlamaUntiedInSingle";
}

INSTANTIATE_TEST_SUITE_P(Two, MeasuredLayouts, testing::ValuesIn(kinds), name_of_kind);

}  // namespace
}  // namespace trireme::equivalence
