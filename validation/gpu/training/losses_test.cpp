// Training on GPUs gives the same losses as a single rank on the CPU, in any layout.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "equivalence/trials.hpp"
#include "messages/program.hpp"
#include "scratch_folder.hpp"
#include "trireme/base/error.hpp"

namespace trireme::equivalence {
namespace {

using messages::mpi_libraries;
using messages::on_emulated_gpu;

class GpuTraining : public testing::Test {
protected:
    static constexpr const char* steps =
        "--steps 4 --eval-every 2 --max-length 12";  // little work, as the emulated GPU is slow

    validation::ScratchFolder folder_;
    Trials trials_{folder_.file(""), steps};
};

struct Way {
    const char* name;
    const char* chosen;
    std::size_t mpi;
};

void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }  // for GoogleTest

class GpuLayouts : public GpuTraining, public testing::WithParamInterface<Way> {};

TEST_P(GpuLayouts, MatchTheLossesOfOneCpuRank) {
    const Case chosen = parse_case(GetParam().chosen);
    const Figures figures = trials_.run_on_gpu(chosen, precision_of(chosen), GetParam().mpi % mpi_libraries());
    const Difference found = difference(figures, trials_.one_rank(chosen));
    EXPECT_TRUE(is_within_tolerance(found, chosen)) << to_string(found);
}

constexpr std::array ways{
    Way{"OneRank", "layout=grid pipe=1 data=1 tensor=1 model=gpt2-tied precision=f64", 0},
    Way{"OneRankInSingle", "layout=grid pipe=1 data=1 tensor=1 model=llama-untied precision=f32", 1},
    Way{"Stages", "layout=grid pipe=2 data=1 tensor=1 schedule=1f1b*1 model=gpt2-tied precision=f64", 1},
    Way{"Shares",
        "layout=grid pipe=1 data=1 tensor=2 model=llama-untied sequence-parallel=on length=pack precision=f64",
        0},
    Way{"Replicas",
        "layout=grid pipe=1 data=2 tensor=1 model=gpt2-untied shard-optimizer=on recompute=full precision=f64",
        1},
    Way{"AllThreeInSingle",
        "layout=grid pipe=2 data=2 tensor=2 schedule=1f1b*1 model=gpt2-tied shard-optimizer=on precision=f32",
        0},
    Way{"EverythingUneven", "layout=everything-uneven schedule=gpipe*1 model=gpt2-tied precision=f64", 1},
};

std::string name_of_way(const testing::TestParamInfo<Way>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Covering, GpuLayouts, testing::ValuesIn(ways), name_of_way);

// Each rank has its own GPU, and the NCCL stand-in, which is strict, connects them.
class NcclLayouts : public GpuLayouts {
protected:
    NcclLayouts() {
        ::setenv("TRIREME_EMULATED_GPU_EACH", "1", 1);
        ::setenv("LD_LIBRARY_PATH", TRIREME_NCCL_STAND_IN_FOLDER, 1);
    }
    ~NcclLayouts() override {
        ::unsetenv("TRIREME_EMULATED_GPU_EACH");
        ::unsetenv("LD_LIBRARY_PATH");
    }
};

TEST_P(NcclLayouts, MatchTheLossesOfOneCpuRank) {
    if (std::string(TRIREME_NCCL_STAND_IN_FOLDER).empty()) GTEST_SKIP() << "built without nccl.h";
    const Case chosen = parse_case(GetParam().chosen);
    const Figures one = trials_.one_rank(chosen);
    const Figures found = trials_.run_on_gpu(chosen, precision_of(chosen), GetParam().mpi % mpi_libraries());
    EXPECT_TRUE(is_within_tolerance(difference(found, one), chosen));
    EXPECT_NE(validation::read_whole(folder_.file("run/manifest.json")).find("\"gpu_messages\": \"NCCL"),
              std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    Covering, NcclLayouts,
    testing::Values(
        Way{"Stages", "layout=grid pipe=2 data=1 tensor=1 schedule=zb-h1*1 model=gpt2-tied precision=f64", 0},
        Way{"AllThree",
            "layout=grid pipe=2 data=2 tensor=2 schedule=1f1b*1 model=gpt2-tied shard-optimizer=on "
            "sequence-parallel=on precision=f64",
            1},
        Way{"EverythingUneven", "layout=everything-uneven schedule=gpipe*1 model=gpt2-tied precision=f32", 0}),
    name_of_way);

// With f32 master weights the losses follow those of f32, within the precision of 8-bit mantissas.
TEST_F(GpuTraining, MatchesF32LossesInBf16) {
    for (const char* name : {"layout=grid pipe=1 data=1 tensor=1 model=gpt2-tied precision=f32",
                             "layout=grid pipe=2 data=2 tensor=1 schedule=1f1b*1 model=llama-untied "
                             "shard-optimizer=on precision=f32"}) {
        const Case chosen = parse_case(name);
        const Figures exact = trials_.one_rank(chosen);
        const Figures rounded = trials_.run_on_gpu(chosen, "bf16", 0);
        ASSERT_EQ(rounded.losses.size(), exact.losses.size());
        for (std::size_t step = 0; step < exact.losses.size(); ++step)
            EXPECT_NEAR(rounded.losses[step], exact.losses[step], 2e-2 * exact.losses[step]) << step;
    }
}

TEST_F(GpuTraining, EvaluatesLikeOneCpuRank) {
    const Case chosen = parse_case("layout=grid pipe=1 data=1 tensor=1 model=gpt2-tied precision=f64");
    trials_.one_rank(chosen);
    trials_.keep_as("first");
    const std::string stored = "--resume first/checkpoints/step-4 --dtype f64";
    const double expected = trials_.evaluate(stored + " --device reference", 0, 0);
    for (const char* way : {"--tensor 2", "--pipe 2"}) {
        const double loss = trials_.evaluate(cat(stored, " --device cuda ", way), 2, on_emulated_gpu());
        EXPECT_NEAR(loss, expected, 1e-10 * expected) << way;
    }
}

Figures after_two_steps(Figures all) {
    for (std::vector<double>* values : {&all.losses, &all.norms})
        values->erase(values->begin(), values->begin() + 2);
    all.evaluations.erase(all.evaluations.begin());
    return all;
}

// Checkpoints save the master weights, from which the bf16 weights are rounded.
TEST_F(GpuTraining, ResumesFromACheckpointBitForBit) {
    const Case chosen =
        parse_case("layout=grid pipe=1 data=2 tensor=1 model=gpt2-tied shard-optimizer=on precision=f32");
    for (const char* dtype : {"f32", "bf16"}) {
        const Figures whole = trials_.run_on_gpu(chosen, dtype, 0, " --checkpoint-every 2");
        trials_.keep_as(std::string("first-") + dtype);
        const std::string resume_options =
            std::string(" --checkpoint-every 2 --resume first-") + dtype + "/checkpoints/step-2";
        EXPECT_EQ(trials_.run_on_gpu(chosen, dtype, 0, resume_options), after_two_steps(whole)) << dtype;
    }
}

}  // namespace
}  // namespace trireme::equivalence
