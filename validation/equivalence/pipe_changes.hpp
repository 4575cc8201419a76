// Runs whose blocks freeze, and whose layouts follow the number of frozen blocks.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "equivalence/trials.hpp"
#include "messages/program.hpp"
#include "scratch_folder.hpp"
#include "trireme/plan/decision.hpp"

namespace trireme::equivalence {

class PipeChanges : public testing::Test {
protected:
    static constexpr std::size_t all_steps = 20;

    // Three to seven of eight blocks freeze after steps 4, 8, 12 and 16.
    static constexpr const char* rule = "--freeze schedule --freeze-alpha 0.3 --freeze-every 4 ";

    // Returns the options that determine the results, except the rule.
    static std::string training(const std::string& model = gpt2_tied, const std::string& precision = in_double,
                                int batch = 16, std::size_t steps = all_steps) {
        return model + precision +
               " --corpus corpus.h5 --layers 8 --positions 24 --dropout 0.1 --lr 5e-3 --validation-share 0.2 "
               "--warmup-steps 3 --eval-every 10 --batch " +
               std::to_string(batch) + " --steps " + std::to_string(steps) + ' ';
    }

    // Returns one of the MPI libraries whose ranks share a node: simulated ranks do not. Successive numbers
    // have different libraries.
    static std::size_t choose_mpi(int ranks, std::size_t number) {
        std::vector<std::size_t> real;
        for (const std::size_t mpi : messages::programs_for(ranks))
            if (mpi < messages::mpi_libraries()) real.push_back(mpi);
        return real[number % real.size()];
    }

    std::vector<plan::Decision> decisions(const std::string& run = "run") const {
        const std::string file = run + "/decisions.jsonl";
        return plan::parse_decisions(validation::read_whole(folder_.file(file)), file);
    }

    // Returns the number of changes between different layouts, without the one before the first step.
    std::size_t count_layout_changes(const std::string& run = "run") const {
        const std::vector<plan::Decision> made = decisions(run);
        std::size_t changes = 0;
        for (std::size_t d = 1; d < made.size(); ++d) changes += made[d].layout != made[d - 1].layout;
        return changes;
    }

    static void expect_equal(const Figures& figures, const Figures& expected, bool is_double = true) {
        const Difference apart = difference(figures, expected);
        EXPECT_TRUE(is_within_tolerance(apart, is_double)) << to_string(apart);
    }

    validation::ScratchFolder folder_;
    Trials trials_{folder_.file("")};
};

}  // namespace trireme::equivalence
