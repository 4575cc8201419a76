// A rank that is made slow: later, and otherwise the same.
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "messages/workplace.hpp"

namespace trireme::messages {
namespace {

using nlohmann::json;

class Slow : public Workplace {
protected:
    void SetUp() override { make_corpus(); }

    // Six steps on two ranks, of which records are left in run/.
    void train_six(const std::string& options, std::size_t mpi) const {
        std::filesystem::remove_all(path("run"));
        const std::string line =
            "train --corpus corpus.h5 --steps 6 --batch 4 --layers 1 --width 16 --heads 2 --device reference "
            "--threads 1 --run-dir run ";
        const Outcome outcome = run(line + options, 2, mpi);
        ASSERT_EQ(outcome.code, 0) << outcome.err;
    }

    std::vector<json> steps() const {
        std::vector<json> all;
        std::istringstream lines(read("run/steps.jsonl"));
        for (std::string line; std::getline(lines, line);) {
            if (json record = json::parse(line); record.contains("loss")) all.push_back(std::move(record));
        }
        return all;
    }

    std::vector<std::pair<double, double>> losses_and_norms() const {
        std::vector<std::pair<double, double>> all;
        for (const json& step : steps()) all.emplace_back(step.at("loss"), step.at("grad_norm"));
        return all;
    }
};

// In kernels, of the steps from `first` to `last` in which it was the least.
double least_compute(const std::vector<json>& steps, std::size_t rank, std::size_t first, std::size_t last) {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t step = first; step <= last; ++step)
        least = std::min(least, steps[step - 1].at("compute_s")[rank].get<double>());
    return least;
}

TEST_F(Slow, RankChangesNoBit) {
    for (const std::string layout : {"--data 2 ", "--pipe 2 --microbatches 2 --schedule zb-h1 "}) {
        for (std::size_t mpi = 0; mpi < programs(); ++mpi) {
            train_six(layout, mpi);
            const auto healthy = losses_and_norms();
            ASSERT_EQ(healthy.size(), 6U);

            train_six(layout + "--slow rank=1,factor=4,steps=3:4", mpi);

            EXPECT_EQ(losses_and_norms(), healthy) << layout << program_path(mpi);
        }
    }
}

// Thirty times, of which three are asked for: whatever else the machine does, one of two or more steps is
// hardly disturbed. In the first slow step nothing has been slept in advance.
TEST_F(Slow, RankIsSeenInWhatIsMeasured) {
    for (std::size_t mpi = 0; mpi < mpi_libraries(); ++mpi) {
        train_six("--data 2 --slow rank=1,factor=30,steps=3:4", mpi);

        const std::vector<json> all = steps();

        ASSERT_EQ(all.size(), 6U);
        const double slow = least_compute(all, 1, 3, 4);
        EXPECT_GE(slow, 3 * least_compute(all, 1, 1, 2));
        EXPECT_GE(slow, 3 * least_compute(all, 1, 5, 6));
        EXPECT_GE(slow, 3 * least_compute(all, 0, 1, 6));
        EXPECT_GE(all[2].at("seconds"), all[2].at("compute_s")[1]);
    }
}

TEST_F(Slow, RankIsToldAndOnRecord) {
    const Outcome outcome = train("--run-dir run --slow rank=1,factor=2.5,steps=2: --data 2", 2);

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("slow      on purpose: rank 1 takes 2.5 times as long from step 2 on\n"),
              std::string::npos)
        << outcome.out;
    EXPECT_EQ(json::parse(read("run/manifest.json")).at("slow"),
              json::parse(R"([{"rank": 1, "factor": 2.5, "first_step": 2}])"));
    EXPECT_NE(read("run/config.ini").find("\nslow = rank=1,factor=2.5,steps=2:\n"), std::string::npos);
    EXPECT_EQ(run("report run").code, 0);
    EXPECT_NE(read("run/report.html").find("made slow: rank 1 to take 2.5 times as long from step 2"),
              std::string::npos);
}

TEST_F(Slow, RankThatIsNotThereIsRefused) {
    expect_train_refusal("--slow rank=2,factor=2",
                         {"--slow names rank 2, and the job has ranks 0 to 1; name one of these"}, 2);
    expect_train_refusal("--slow rank=0,factor=2,steps=3:",
                         {"--slow of rank 0 begins in step 3, behind the last of 2 steps; name earlier ones"},
                         2);
    expect_train_refusal("--slow rank=0,factor=0.5",
                         {"--slow factor expects a number from 1 to 1000, not '0.5'"}, 2);
}

}  // namespace
}  // namespace trireme::messages
