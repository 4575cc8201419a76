// The central promise of the program: with the same data and seed, any layout and any synchronous schedule give
// the same losses, gradient norms, evaluations and parameters. See cases.hpp for the factors.
#include <gtest/gtest.h>

#include <array>
#include <fstream>

#include "equivalence/trials.hpp"
#include "messages/program.hpp"
#include "scratch_folder.hpp"

namespace trireme::equivalence {
namespace {

using messages::programs;
using messages::programs_for;

// The simulator if it was built, otherwise an MPI library.
std::size_t many_ranks() { return programs() - 1; }

class Layouts : public testing::Test {
protected:
    void expect_equal(const Figures& figures, const Figures& expected, const Case& chosen) {
        const Difference apart = difference(figures, expected);
        EXPECT_TRUE(is_within_tolerance(apart, chosen))
            << to_string(apart) << " from a single rank's in\n  " << to_string(chosen);
    }

    validation::ScratchFolder folder_;
    Trials trials_{folder_.file(""), "--steps 12 --eval-every 6"};
};

struct Trained {
    const char* name;
    const char* levels;
};

void PrintTo(const Trained& trained, std::ostream* out) { *out << trained.name; }  // for GoogleTest

// Few cases that contain every pair of levels: see cases_test.cpp.
class CoveringLayouts : public Layouts, public testing::WithParamInterface<Trained> {};

TEST_P(CoveringLayouts, MatchASingleRank) {
    const Case kind = parse_case(GetParam().levels);
    std::size_t runs = 0;
    for (const Case& chosen : product_of_factors().covering(2)) {
        if (chosen[Factor::model] != kind[Factor::model]) continue;
        if (chosen[Factor::precision] != kind[Factor::precision]) continue;
        SCOPED_TRACE(to_string(chosen));
        ++runs;
        expect_equal(trials_.run(chosen, many_ranks()), trials_.one_rank(chosen), chosen);
    }
    EXPECT_GT(runs, 4U);
}

constexpr std::array trained{Trained{"Gpt2TiedInDouble", "model=gpt2-tied precision=f64"},
                             Trained{"Gpt2TiedInSingle", "model=gpt2-tied precision=f32"},
                             Trained{"Gpt2UntiedInDouble", "model=gpt2-untied precision=f64"},
                             Trained{"Gpt2UntiedInSingle", "model=gpt2-untied precision=f32"},
                             Trained{"LlamaTiedInDouble", "model=llama-tied precision=f64"},
                             Trained{"LlamaTiedInSingle", "model=llama-tied precision=f32"},
                             Trained{"LlamaUntiedInDouble", "model=llama-untied precision=f64"},
                             Trained{"LlamaUntiedInSingle", "model=llama-untied precision=f32"}};

std::string name_of_trained(const testing::TestParamInfo<Trained>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Every, CoveringLayouts, testing::ValuesIn(trained), name_of_trained);

// Under every MPI library and in the simulation, the results are those of a single rank, with the same bits in
// all of them.
class ChosenLayouts : public Layouts, public testing::WithParamInterface<Trained> {};

TEST_P(ChosenLayouts, MatchBitForBitUnderEveryMpiLibrary) {
    const Case chosen = parse_case(GetParam().levels);

    const Figures first = trials_.run(chosen, 0);

    expect_equal(first, trials_.one_rank(chosen), chosen);
    for (const std::size_t mpi : programs_for(ranks_of(chosen))) {
        if (mpi == 0) continue;
        EXPECT_EQ(trials_.run(chosen, mpi), first) << "MPI library " << mpi;
    }
}

constexpr std::array twelve{
    Trained{"TwoByTwo",
            "layout=grid pipe=2 data=2 tensor=1 schedule=1f1b*1 micro-batches=3/5 model=gpt2-tied "
            "recompute=selective "
            "partition=parameters shard-optimizer=on sequence-parallel=off length=pad precision=f64"},
    Trained{"FourStages",
            "layout=grid pipe=4 data=1 tensor=1 schedule=gpipe*1 micro-batches=5/9 model=gpt2-untied "
            "recompute=full "
            "partition=type shard-optimizer=off sequence-parallel=off length=pack precision=f32"},
    Trained{"TwoReplicasOfTwo",
            "layout=grid pipe=1 data=2 tensor=2 schedule=1f1b*1 micro-batches=2/2 model=llama-untied "
            "recompute=none "
            "partition=uniform shard-optimizer=on sequence-parallel=on length=pack precision=f64"},
    Trained{
        "InterleavedOfTwo",
        "layout=grid pipe=2 data=1 tensor=2 schedule=interleaved*2 micro-batches=5/9 model=gpt2-tied "
        "recompute=unlike partition=listed shard-optimizer=on sequence-parallel=on length=pad precision=f32"},
    Trained{
        "LoopedOnThree",
        "layout=grid pipe=3 data=1 tensor=1 schedule=looped-bfs*2 micro-batches=3/5 model=llama-tied "
        "recompute=none partition=uniform shard-optimizer=on sequence-parallel=off length=fixed precision=f64"},
    Trained{"TwoByTwoByTwo",
            "layout=grid pipe=2 data=2 tensor=2 schedule=1f1b*1 micro-batches=3/5 model=llama-untied "
            "recompute=selective partition=uniform shard-optimizer=on sequence-parallel=on length=pack "
            "precision=f32"},
    Trained{"Replicas332",
            "layout=replicas-3-3-2 schedule=1f1b*1 micro-batches=5/9 model=gpt2-tied recompute=none "
            "shard-optimizer=on sequence-parallel=off length=pack precision=f64"},
    Trained{"Replicas21",
            "layout=replicas-2-1 schedule=gpipe*1 micro-batches=3/5 model=llama-untied recompute=full "
            "shard-optimizer=off sequence-parallel=off length=pad precision=f32"},
    Trained{
        "Shares521",
        "layout=shares-5-2-1 schedule=inter-layer*1 micro-batches=2/2 model=gpt2-untied recompute=selective "
        "shard-optimizer=on sequence-parallel=on length=pad precision=f64"},
    Trained{
        "CutDifferently",
        "layout=cut-differently-in-a-row schedule=1f1b*1 micro-batches=5/9 model=gpt2-tied recompute=unlike "
        "shard-optimizer=on sequence-parallel=on length=pad precision=f32"},
    Trained{"LoopedShares",
            "layout=looped-shares schedule=interleaved*2 micro-batches=3/5 model=gpt2-untied recompute=none "
            "shard-optimizer=off sequence-parallel=off length=pack precision=f64"},
    Trained{"EverythingUneven",
            "layout=everything-uneven schedule=gpipe*1 micro-batches=5/9 model=llama-tied recompute=selective "
            "shard-optimizer=on sequence-parallel=off length=pad precision=f32"}};

INSTANTIATE_TEST_SUITE_P(Twelve, ChosenLayouts, testing::ValuesIn(twelve), name_of_trained);

TEST_F(Layouts, AreReproducibleBitForBit) {
    for (const std::size_t place : {std::size_t{3}, std::size_t{6}}) {
        const Case chosen = parse_case(twelve[place].levels);
        for (const std::size_t mpi : programs_for(ranks_of(chosen))) {
            const Figures first = trials_.run(chosen, mpi);

            EXPECT_EQ(trials_.run(chosen, mpi), first) << to_string(chosen) << ", MPI library " << mpi;
        }
    }
}

// Schedules that are not levels of the cases: generated from different costs per stage, or written by a user.
TEST_F(Layouts, MatchASingleRankWithCustomSchedules) {
    std::ofstream(folder_.file("mine.csv")) << "0F0,0F1,0I0,0F2,0I1,0W0,0I2,0W1,0W2\n1F0,1B0,1F1,1B1,1F2,1B2\n";
    struct Way {
        const char* options;
        int ranks;
    };
    constexpr std::array ways{
        Way{"--pipe 3 --microbatches 7 --schedule auto --cost F=1,I=2,W=2,send=1;F=3,I=1,W=1;F=1,I=4,W=4", 3},
        Way{"--pipe 2 --data 2 --tensor 2 --microbatches 3 --schedule auto --cost F=2,I=2,W=1;F=1,I=3,W=3", 8},
        Way{"--pipe 2 --chunks 2 --microbatches 4 --schedule auto", 2},
        Way{"--pipe 2 --microbatches 3 --schedule mine.csv", 2}};
    for (const char* kind : {"model=gpt2-tied precision=f64", "model=llama-untied precision=f32"}) {
        const Case one = parse_case(kind);
        for (const Way& way : ways) {
            SCOPED_TRACE(way.options);
            const std::string options = training_options(one) + " " + way.options;
            expect_equal(trials_.run(options, way.ranks, many_ranks()), trials_.one_rank(one), one);
        }
    }
}

// Returns layouts into which a stored model is loaded. The last one is a single rank, the reference of the
// others.
std::vector<Case> places() {
    std::vector<Case> all;
    for (const char* layout :
         {"layout=grid pipe=2 data=2 tensor=2", "layout=shares-5-2-1", "layout=everything-uneven",
          "layout=looped-shares", "layout=grid pipe=1 data=1 tensor=1"}) {
        all.push_back(parse_case(layout + std::string(" model=gpt2-tied precision=f64")));
    }
    return all;
}

TEST_F(Layouts, ContinueEquallyFromAModelOfADifferentLayout) {
    trials_.run(parse_case("layout=replicas-3-3-2 model=gpt2-tied precision=f64"), many_ranks());
    trials_.keep_as("stored");
    const auto continued = [&](const Case& place) {
        return trials_.run(training_options(place) + " --init stored " + way_options(place), ranks_of(place),
                           many_ranks());
    };
    const Figures one = continued(places().back());

    for (const Case& place : places()) expect_equal(continued(place), one, place);
}

TEST_F(Layouts, EvaluateAModelOfADifferentLayoutEqually) {
    trials_.run(parse_case("layout=replicas-3-3-2 model=gpt2-tied precision=f64"), many_ranks());
    trials_.keep_as("stored");
    const auto loss = [&](const Case& place) {
        return trials_.evaluate("--resume stored --dtype f64 --device reference " + evaluation_options(place),
                                ranks_of(place), many_ranks());
    };
    const double one = loss(places().back());

    for (const Case& place : places()) EXPECT_NEAR(loss(place), one, 1e-10 * one) << to_string(place);
}

}  // namespace
}  // namespace trireme::equivalence
