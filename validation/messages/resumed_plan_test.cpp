// Runs that go on from checkpoints of runs that had left the plan of their options.
#include "messages/straggler_runs.hpp"

namespace trireme::messages {
namespace {

class ResumedPlan : public Stragglers {
protected:
    static constexpr const char* slow = "--slow rank=1,factor=4,steps=6:31,on=products --length fixed ";

    // What rank 1 took for products in a step, counted from 0.
    double products_of_slow(const std::string& folder, std::size_t step) const {
        return training_steps(folder).at(step).at("products_s")[1];
    }

    std::vector<double> losses_from(const std::string& folder, std::size_t step) const {
        const std::vector<double> all = losses(folder);
        return {all.begin() + static_cast<std::ptrdiff_t>(step), all.end()};
    }

    // Whether it goes on in the plan that another run is in behind so many steps.
    void expect_goes_on(const Outcome& outcome, const std::string& folder, const std::string& from,
                        std::size_t step) const {
        EXPECT_NE(outcome.out.find("\nplan      goes on in "), std::string::npos) << outcome.out;
        EXPECT_LT(products_of_slow(folder, 0), 0.8 * products_of_slow(from, 9));
        for (std::size_t s = 0; s < 4; ++s) {
            EXPECT_NEAR(products_of_slow(folder, s), products_of_slow(from, step + s), 1e-9) << s;
            EXPECT_EQ(training_steps(folder)[s].at("plan"), training_steps(from)[step + s].at("plan")) << s;
        }
    }
};

// Two steps before the next look, which takes ranks to be as slow as they were; and once more from its own
// checkpoint. When the rank has recovered shares are even again, as the options have them.
TEST_F(ResumedPlan, HasTheSharesThatItHad) {
    const std::string options = std::string(slow) + "--straggler uneven --look-every 5 --checkpoint-every 9 ";
    simulate(options + "--run-dir whole", 45);

    const Outcome second = simulate(options + "--run-dir second --resume whole/checkpoints/step-18", 45);
    const Outcome third = simulate(options + "--run-dir third --resume second/checkpoints/step-27", 45);

    expect_goes_on(second, "second", "whole", 18);
    expect_goes_on(third, "third", "whole", 27);
    EXPECT_LE(most_apart(losses("second"), losses_from("whole", 18)), 1e-10);
    EXPECT_LE(most_apart(losses("third"), losses_from("whole", 27)), 1e-10);
    ASSERT_EQ(decisions("whole").size(), 2U);
    for (const char* const folder : {"second", "third"}) {
        ASSERT_EQ(decisions(folder).size(), 1U);
        EXPECT_EQ(decisions(folder)[0].at("layout"), decisions("whole")[1].at("layout"));
    }
}

TEST_F(ResumedPlan, LeavesOutWhatItLeftOut) {
    const std::string options = std::string(slow) + "--straggler resize --look-every 5 --checkpoint-every 9 ";
    simulate(options + "--run-dir whole", 45);

    const Outcome second = simulate(options + "--run-dir second --resume whole/checkpoints/step-18", 45);

    expect_goes_on(second, "second", "whole", 18);
    ASSERT_EQ(decisions("second").size(), 1U);
    EXPECT_FALSE(decisions("second")[0].contains("left_out"));
}

// Or it begins in the plan of these, and says why.
TEST_F(ResumedPlan, IsThatOfTheSameOptionsAlone) {
    const std::string options = std::string(slow) + "--look-every 5 --checkpoint-every 18 ";
    simulate(options + "--straggler uneven --run-dir whole", 20);
    const std::string begins = "\nplan      begins in that of the options, and not in the checkpoint's: ";
    const auto words = [&](const std::string& ranks, const std::string& others) {
        const Outcome outcome =
            run("simulate --cluster double.json --steps 20 --resume " +
                std::string("whole/checkpoints/step-18 ") + ranks + options + of_model + others);
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        return outcome.out;
    };

    EXPECT_NE(words("--ranks 2 --tensor 2 ", "--straggler uneven --run-dir two")
                  .find(begins + "it is of 4 ranks, and these are 2\n"),
              std::string::npos);
    EXPECT_NE(words("--ranks 4 --tensor 4 ", "--straggler off --run-dir off")
                  .find(begins + "--straggler was uneven\n"),
              std::string::npos);
    EXPECT_NE(words("--ranks 4 --tensor 2 --data 2 ", "--straggler uneven --run-dir grid")
                  .find(begins + "the plan of its options was "),
              std::string::npos);
    EXPECT_GT(products_of_slow("off", 0), 1.5 * products_of_slow("whole", 18));
    EXPECT_EQ(
        words("--ranks 4 --tensor 4 ", "--straggler uneven --decisions whole/decisions.jsonl --run-dir again")
            .find("\nplan "),
        std::string::npos);
    EXPECT_EQ(losses("again"), losses_from("whole", 18));
}

}  // namespace
}  // namespace trireme::messages
