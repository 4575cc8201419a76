// Runs with a cache of the outputs of frozen layers have the results of runs without, to the last bit.
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "equivalence/pipe_changes.hpp"

namespace trireme::equivalence {
namespace {

struct CachedRun {
    const char* name;
    int ranks;
    std::size_t mpi;  // see choose_mpi()
    const char* way;
    const char* model = gpt2_tied;
    const char* precision = in_double;
    int batch = 16;
    const char* rule = "--freeze schedule --freeze-alpha 0.3 --freeze-every 4 ";
    const char* cache = " --cache on";
};

void PrintTo(const CachedRun& run, std::ostream* out) { *out << run.name; }  // for GoogleTest

// An epoch has 60 samples, so that epochs end within steps.
constexpr std::array cached_runs{
    CachedRun{"OneRankPacked", 0, 0, "--length pack"},
    CachedRun{"OneRankPadded", 0, 0, "--length pad --microbatches 5", llama_untied},
    CachedRun{"OneRankInSingle", 0, 0, "--microbatches 2", gpt2_tied, in_single},
    // A step visits some samples twice.
    CachedRun{"StepsLongerThanAnEpoch", 2, 1, "--data 2 --microbatches 3", gpt2_tied, in_double, 66},
    CachedRun{"Replicas", 4, 0, "--data 4 --length pack", llama_untied},
    CachedRun{"TensorRanks", 4, 0, "--tensor 4 --length pack --move overlap"},
    CachedRun{"SequenceParallel", 2, 1, "--tensor 2 --sequence-parallel on --microbatches 3", llama_untied},
    CachedRun{"SequenceParallelReplicas", 4, 0,
              "--tensor 2 --data 2 --sequence-parallel on --length pack --microbatches 2"},
    CachedRun{"FrozenLayersInSeveralStages", 3, 1, "--pipe 3 --microbatches 6 --recompute full"},
    CachedRun{"FromOneToFourReplicas", 4, 0,
              "--pipe 4 --microbatches 8 --auto-pipe published --auto-dp on --move twins"},
    CachedRun{"AThirdOfTheSamples", 2, 0, "--data 2", gpt2_tied, in_double, 16,
              "--freeze schedule --freeze-alpha 0.3 --freeze-every 4 ", " --cache on --cache-memory 50000"},
    // The samples without an entry are so few that their matmuls would have fewer than 16 rows.
    CachedRun{"MostOfTheSamplesInSingle", 0, 0, "--microbatches 2", llama_untied, in_single, 16,
              "--freeze schedule --freeze-alpha 0.3 --freeze-every 4 ", " --cache on --cache-memory 52000"},
    CachedRun{"PipeDream", 2, 1, "--pipe 2 --microbatches 4 --schedule pipedream-2bw", gpt2_untied},
};

class CachedSamples : public PipeChanges {
protected:
    std::vector<nlohmann::json> steps() const {
        std::istringstream lines(validation::read_whole(folder_.file("run/steps.jsonl")));
        std::vector<nlohmann::json> all;
        for (std::string line; std::getline(lines, line);) {
            all.push_back(nlohmann::json::parse(line));
            if (!all.back().contains("loss")) all.pop_back();
        }
        return all;
    }

    // Returns the visits of samples that the cache had, over all steps.
    double count_hits() const {
        double hits = 0;
        for (const nlohmann::json& step : steps())
            if (step.contains("cache")) hits += step["cache"]["hits"].get<double>();
        return hits;
    }

    // Expects equal bits with and without the cache, and returns the number of hits.
    double compare(const std::string& options, int ranks = 0, std::size_t mpi = 0,
                   const std::string& cache = " --cache on") {
        const Figures cached = trials_.run_steps(options + cache, ranks, mpi);
        const double hits = count_hits();
        const Figures computed = trials_.run_steps(options, ranks, mpi);
        EXPECT_EQ(cached, computed) << to_string(difference(cached, computed));
        return hits;
    }
};

class CoveredCachedSamples : public CachedSamples, public testing::WithParamInterface<CachedRun> {};

TEST_P(CoveredCachedSamples, GiveTheSameBits) {
    const CachedRun& run = GetParam();
    const std::string options = training(run.model, run.precision, run.batch) + run.rule + run.way;

    EXPECT_GT(compare(options, run.ranks, run.ranks == 0 ? 0 : choose_mpi(run.ranks, run.mpi), run.cache), 0);
}

INSTANTIATE_TEST_SUITE_P(Covering, CoveredCachedSamples, testing::ValuesIn(cached_runs),
                         [](const auto& run) { return std::string(run.param.name); });

// Blocks thaw, are trained, and freeze again. A cache that knows only the depth of an entry would return what
// the blocks computed with their former weights.
TEST_F(CachedSamples, GiveTheSameBitsAfterBlocksThaw) {
    constexpr std::array depths{4, 6, 2, 6, 0, 6, 1, 4};
    std::string decisions;
    for (std::size_t d = 0; d < depths.size(); ++d)
        decisions +=
            nlohmann::json{
                {"step", 1 + 2 * d},
                {"frozen", depths[d]},
                {"layout",
                 {{"layers", 19}, {"stages", {{{"layers", {0, 19}}, {"replicas", {{{"ranks", {0, 1}}}}}}}}}}}
                .dump() +
            "\n";
    std::ofstream(folder_.file("thaw.jsonl")) << decisions;

    // A step visits every sample.
    EXPECT_GT(compare(training(gpt2_tied, in_double, 60) + "--tensor 2 --decisions thaw.jsonl", 2, 0), 0);
}

// A resumed run begins with an empty cache.
TEST_F(CachedSamples, GiveTheSameBitsAfterAResume) {
    const std::string options = training() + rule + "--data 2 --cache on ";
    const Figures whole = trials_.run_steps(options, 2, 1);
    trials_.run_steps(options + "--checkpoint-every 13", 2, 1);
    std::filesystem::rename(folder_.file("run/checkpoints/step-13"), folder_.file("step-13"));

    const Figures resumed = trials_.run_steps(options + "--resume step-13", 2, 1);

    EXPECT_EQ(resumed.parameters, whole.parameters);
    EXPECT_EQ(resumed.losses, std::vector(whole.losses.begin() + 13, whole.losses.end()));
}

// On a GPU, which reads entries of the node's memory. An epoch has one step.
TEST_F(CachedSamples, GiveTheSameLossesOnAGpu) {
    const std::string options =
        std::string(gpt2_tied) +
        " --layers 2 --positions 24 --corpus corpus.h5 --validation-share 0.2 --batch 60 "
        "--steps 3 --frozen 1 --dtype f32 ";

    const Figures on_gpu = trials_.run_steps(
        options + "--device cuda --tensor 2 --sequence-parallel on --microbatches 2 --cache on", 2,
        messages::on_emulated_gpu(0));

    EXPECT_EQ(count_hits(), 2 * 60);
    expect_equal(on_gpu, trials_.run_steps(options + "--device cpu", 0, 0), /*is_double=*/false);
}

// An epoch has four steps. Samples have entries from the second epoch at a depth on.
TEST_F(CachedSamples, AreComputedOnce) {
    trials_.run_steps(training(gpt2_tied, in_double, 15) +
                          "--freeze schedule --freeze-alpha 0.3 --freeze-every 8 "
                          "--data 2 --cache on --microbatches 2",
                      2, 0);

    constexpr double layers = 19;
    constexpr double microbatches = 4;
    const std::vector<nlohmann::json> all = steps();
    for (std::size_t s = 0; s < all.size(); ++s) {
        SCOPED_TRACE("step " + std::to_string(s + 1));
        const nlohmann::json& step = all[s];
        const bool has_entries = s >= 12;
        EXPECT_EQ(step.contains("cache"), s >= 8);
        if (s < 8) continue;
        EXPECT_EQ(step["frozen"], s < 16 ? 3 : 5);
        EXPECT_EQ(step["cache"]["hits"], has_entries ? 15 : 0);
        EXPECT_EQ(step["cache"]["misses"], has_entries ? 0 : 15);
        // After step 16, samples have passed three blocks. Two more are computed in the epoch that follows.
        const double cached_layers = has_entries ? 1 + 2 * 3 : 0;
        EXPECT_NEAR(step["layer_passes"]["cached"], microbatches * cached_layers, 1e-9);
        EXPECT_NEAR(step["layer_passes"]["forward"], microbatches * (layers - cached_layers), 1e-9);
    }
    EXPECT_EQ(all.size(), all_steps);
}

}  // namespace
}  // namespace trireme::equivalence
