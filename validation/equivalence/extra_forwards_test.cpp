// A run whose schedule is that of EnvPipe has the results of a single rank, with any extra forwards, and also
// if their number changes during the run.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "equivalence/trials.hpp"
#include "messages/program.hpp"
#include "scratch_folder.hpp"

namespace trireme::equivalence {
namespace {

using nlohmann::json;

// Returns a layout of the 11 layers of gpt2-tiny with four blocks. `stages` has the ranks of each stage, each
// of which is a replica.
json make_layout(const std::vector<std::vector<int>>& stages) {
    json layout{{"layers", 11}, {"stages", json::array()}};
    std::size_t begin = 0;
    for (const std::vector<int>& ranks : stages) {
        const std::size_t end = 11 * (layout["stages"].size() + 1) / stages.size();
        json replicas = json::array();
        for (const int rank : ranks) replicas.push_back({{"ranks", {rank}}});
        layout["stages"].push_back({{"layers", {begin, end}}, {"replicas", replicas}});
        begin = end;
    }
    return layout;
}

TEST(ExtraForwards, HaveTheResultsOfASingleRank) {
    const validation::ScratchFolder folder;
    Trials trials(folder.file(""));
    std::ofstream(folder.file("decisions.jsonl"))
        << json{{"step", 2}, {"layout", make_layout({{0, 1}, {2}, {3}})}, {"extra_forwards", {3, 1, 0}}} << '\n'
        << json{{"step", 8}, {"layout", make_layout({{0, 1}, {2}, {3}})}, {"extra_forwards", {0, 2, 2}}} << '\n'
        << json{{"step", 14}, {"layout", make_layout({{0}, {1}, {2}, {3}})}, {"extra_forwards", {3, 2, 1, 0}}}
        << '\n';
    const std::string training = std::string(gpt2_tied) +
                                 " --corpus corpus.h5 --layers 4 --positions 24 --dropout 0.1 --lr 5e-3 "
                                 "--validation-share 0.2 --batch 12 --warmup-steps 3";
    for (const char* const precision : {in_double, in_single}) {
        const Figures one = trials.run(training + precision, 0, 0);
        for (std::size_t mpi = 0; mpi < messages::programs(); ++mpi) {
            const Figures run = trials.run(training + precision +
                                               " --schedule envpipe --pipe 4 --microbatches 6 --decisions "
                                               "decisions.jsonl",
                                           4, mpi);

            const Difference apart = difference(run, one);
            EXPECT_TRUE(is_within_tolerance(apart, precision == in_double)) << precision << to_string(apart);
        }
    }
}

}  // namespace
}  // namespace trireme::equivalence
