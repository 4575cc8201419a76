// A run on GPUs that changes its plan: layouts, skipped channels, offloaded work.
#include <gtest/gtest.h>

#include <array>
#include <fstream>

#include "equivalence/trials.hpp"
#include "messages/program.hpp"
#include "ranks/mover/random_layouts.hpp"
#include "scratch_folder.hpp"
#include "trireme/plan/decision.hpp"

namespace trireme::equivalence {
namespace {

using messages::on_emulated_gpu;
using validation::make_random_layout;

constexpr const char* training =
    "--model gpt2-tiny --tied on --width 16 --heads 4 --corpus corpus.h5 --layers 4 --positions 12 --dropout "
    "0.1 "
    "--lr 5e-3 --validation-share 0.2 --batch 8 --warmup-steps 3 --eval-every 4 --steps 8";
constexpr const char* on_reference = " --dtype f64 --device reference";

class GpuPlanChanges : public testing::Test {
protected:
    void write(const std::vector<std::string>& decisions) {
        std::ofstream file(folder_.file("decisions.jsonl"));
        for (const std::string& decision : decisions) file << decision << '\n';
    }

    Figures run(const std::string& options, int ranks, std::size_t mpi) {
        return trials_.run_steps(training + options + " --decisions decisions.jsonl", ranks, mpi);
    }

    validation::ScratchFolder folder_;
    Trials trials_{folder_.file("")};
};

TEST_F(GpuPlanChanges, MatchOneCpuRankAfterLayoutChanges) {
    std::vector<std::string> decisions;
    for (std::size_t step = 2; step < 8; step += 2) {
        const layout::Layout layout =
            make_random_layout(step, {.ranks = 4, .layers = 11, .max_shares = 4, .max_replicas = 3});
        decisions.push_back(plan::to_json({.step = step, .layout = layout}));
    }
    write(decisions);
    const Figures one = trials_.run_steps(training + std::string(on_reference), 0, 0);
    for (const char* move : {"stop", "overlap", "twins", "restart"}) {
        const Figures moved =
            run(std::string(" --dtype f64 --device cuda --data 4 --move ") + move, 4, on_emulated_gpu());
        const Difference found = difference(moved, one);
        EXPECT_TRUE(is_within_tolerance(found, true)) << move << ": " << to_string(found);
    }
}

// Master weights move with the moments.
TEST_F(GpuPlanChanges, KeepBf16LossesAndParametersBitForBit) {
    const std::string there =
        R"({"layers": 11, "stages": [{"layers": [0, 11], "replicas": [{"ranks": [1]}]}], "idle": [0]})";
    const std::string back =
        R"({"layers": 11, "stages": [{"layers": [0, 11], "replicas": [{"ranks": [0]}]}], "idle": [1]})";
    write({R"({"step": 3, "layout": )" + there + "}", R"({"step": 5, "layout": )" + back + "}"});
    const std::string options = " --dtype bf16 --device cuda";
    const Figures unmoved = trials_.run_steps(training + options, 0, on_emulated_gpu());
    for (const char* move : {"stop", "overlap", "twins"}) {
        std::ofstream(folder_.file("layout.json")) << back;
        const Figures moved = run(options + " --layout layout.json --move " + move, 2, on_emulated_gpu());
        EXPECT_EQ(moved.losses, unmoved.losses) << move;
        EXPECT_EQ(moved.parameters, unmoved.parameters) << move;
    }
}

// Frozen blocks have no master weights: their rounded values stay, whichever ranks hold them.
TEST_F(GpuPlanChanges, KeepFrozenBf16ValuesBitForBit) {
    const std::string stages = R"({"layers": 11, "stages": [{"layers": [0, 4], "replicas": [{"ranks": [1]}]}, )"
                               R"({"layers": [4, 11], "replicas": [{"ranks": [0]}]}]})";
    const std::string shares =
        R"({"layers": 11, "stages": [{"layers": [0, 11], "replicas": [{"ranks": [0, 1], "shares": [3, 1]}]}]})";
    write({R"({"step": 3, "layout": )" + stages + "}", R"({"step": 6, "layout": )" + shares + "}"});
    const std::string options = " --dtype bf16 --device cuda --frozen 2";
    const Figures one = trials_.run_steps(training + options, 0, on_emulated_gpu());
    const Figures moved = run(options + " --data 2", 2, on_emulated_gpu());

    std::size_t frozen = 0;
    for (const auto& [name, values] : one.parameters) {
        const bool is_frozen = name.find(".h.0.") != name.npos || name.find(".h.1.") != name.npos ||
                               name.find("wte") != name.npos || name.find("wpe") != name.npos;
        if (!is_frozen) continue;
        ++frozen;
        EXPECT_EQ(moved.parameters.at(name), values) << name;
    }
    EXPECT_EQ(frozen, 2 * 12 + 2U);
}

std::string together(const std::string& shared) {
    return R"(, "layout": {"layers": 11, "stages": [{"layers": [0, 11], "replicas": [{"ranks": [0, 1]}]}]}, )" +
           shared + "}";
}

// Both devices choose the same channels and skip the same work.
TEST_F(GpuPlanChanges, MatchTheCpuWithSkippedChannels) {
    write({R"({"step": 2)" + together(R"("left_out": [0, 0.5])"),
           R"({"step": 6)" + together(R"("left_out": [0.25, 0])")});
    for (const char* fill : {"average", "same"}) {
        const std::string options =
            std::string(" --tensor 2 --straggler resize --checkpoint-every 4 --resize-fill ") + fill;
        const Figures on_cpu = run(options + on_reference, 2, 0);
        const Figures on_gpu = run(options + " --dtype f64 --device cuda", 2, on_emulated_gpu());
        const Difference found = difference(on_gpu, on_cpu);
        EXPECT_TRUE(is_within_tolerance(found, true)) << fill << ": " << to_string(found);
    }
}

TEST_F(GpuPlanChanges, MatchTheCpuWithOffloadedWork) {
    write({R"({"step": 2)" +
               together(R"("migrations": [{"from": 1, "to": 0, "parts": [0.25, 0.25, 0.25, 0.25]}])"),
           R"({"step": 5)" + together(R"("left_out": [0, 0.25], "migrations": [{"from": 1, "to": 0, "parts": )"
                                      R"([0.25, 0, 0.25, 0]}])")});
    const std::string options = " --tensor 2 --straggler semi --checkpoint-every 4";
    const Figures on_cpu = run(options + on_reference, 2, 0);
    const Figures on_gpu = run(options + " --dtype f64 --device cuda", 2, on_emulated_gpu());
    const Difference found = difference(on_gpu, on_cpu);
    EXPECT_TRUE(is_within_tolerance(found, true)) << to_string(found);
}

TEST_F(GpuPlanChanges, MatchF32LossesInBf16WithSkippedAndOffloadedWork) {
    const auto expect_losses_near_f32 = [&](const std::string& way) {
        const std::string options = " --tensor 2 " + way;
        const Figures on_cpu = run(options + " --dtype f32 --device cpu", 2, 0);
        const Figures on_gpu = run(options + " --dtype bf16 --device cuda", 2, on_emulated_gpu());
        ASSERT_EQ(on_gpu.losses.size(), on_cpu.losses.size());
        for (std::size_t step = 0; step < on_cpu.losses.size(); ++step)
            EXPECT_NEAR(on_gpu.losses[step], on_cpu.losses[step], 2e-2 * on_cpu.losses[step]) << way << step;
    };
    write({R"({"step": 2)" + together(R"("left_out": [0, 0.5])")});
    expect_losses_near_f32("--straggler resize --resize-fill same");
    write({R"({"step": 2)" + together(R"("left_out": [0, 0.25], "migrations": [{"from": 1, "to": 0, "parts": )"
                                      R"([0.25, 0.25, 0.25, 0.25]}])")});
    expect_losses_near_f32("--straggler semi");
}

}  // namespace
}  // namespace trireme::equivalence
