// The output of `doctor` about this machine, with and without launchers.
#include <nlohmann/json.hpp>

#include "messages/workplace.hpp"

namespace trireme::messages {
namespace {

using nlohmann::json;

using Doctor = Workplace;

json finding(const json& account, const std::string& name) {
    for (const json& each : account.at("findings"))
        if (each.at("name") == name) return each;
    return {};
}

TEST_F(Doctor, ExaminesTheMachineWithoutALauncher) {
    const auto before = content();

    const Outcome outcome = run("doctor");

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    EXPECT_TRUE(has(outcome.out, "  ok      ranks         1 on 1 host: ")) << outcome.out;
    EXPECT_TRUE(has(outcome.out, "not started by mpirun or srun")) << outcome.out;
    EXPECT_TRUE(has(outcome.out, "  missing links         not measured: there is only one rank\n"))
        << outcome.out;
    EXPECT_TRUE(has(outcome.out, "everything that training needs works here\n")) << outcome.out;
    EXPECT_EQ(content(), before);
}

TEST_F(Doctor, ReportsAllRanksAndTheirLinks) {
    for (std::size_t mpi = 0; mpi < mpi_libraries(); ++mpi) {
        const Outcome outcome = run("doctor --json", 2, mpi);

        EXPECT_EQ(outcome.code, 0) << outcome.err;
        const json account = json::parse(outcome.out);
        EXPECT_EQ(account.at("all_work"), true);
        EXPECT_EQ(account.at("processes"), 2);
        ASSERT_EQ(account.at("ranks").size(), 2U);
        EXPECT_TRUE(account.at("ranks").at(0).contains("scratch"));
        EXPECT_FALSE(account.at("ranks").at(1).contains("scratch"));
        for (const json& rank : account.at("ranks")) {
            EXPECT_GT(rank.at("flops").get<double>(), 0);
            EXPECT_GE(rank.at("cores").size(), 1U);
        }
        ASSERT_EQ(account.at("links").size(), 1U);
        EXPECT_EQ(account.at("links").at(0).at("ranks"), (json{0, 1}));
        EXPECT_GT(account.at("links").at(0).at("latency").get<double>(), 0);
        EXPECT_GT(account.at("links").at(0).at("bandwidth").get<double>(), 0);
    }
}

TEST_F(Doctor, ReportsAScratchFolderThatCannotBeWritten) {
    write("file", "text");

    for (const int ranks : {0, 2}) {
        const Outcome outcome = run("doctor --scratch file/below", ranks);

        EXPECT_EQ(outcome.code, 3) << outcome.err;
        EXPECT_TRUE(has(outcome.out, "--scratch file/below is no folder; create it")) << outcome.out;
        EXPECT_TRUE(has(outcome.out, "no run can work until this is repaired: HDF5, scratch\n")) << outcome.out;
        EXPECT_TRUE(sentences(outcome).empty()) << outcome.err;
    }
}

// The two processes do not find each other; only one of them reports.
TEST_F(Doctor, ReportsALauncherOfADifferentMpiLibrary) {
    if (mpi_libraries() < 2) GTEST_SKIP() << "built with one MPI library";
    const std::string doctor_of_the_other = program_path(1) + " doctor --json";

    const Outcome outcome = run_ranks({doctor_of_the_other, doctor_of_the_other}, 0);

    EXPECT_EQ(outcome.code, 3) << outcome.err;
    const json account = json::parse(outcome.out);
    EXPECT_EQ(account.at("all_work"), false);
    EXPECT_EQ(account.at("ranks").size(), 1U);
    EXPECT_EQ(finding(account, "MPI").at("status"), "fails");
    EXPECT_TRUE(
        has(finding(account, "MPI").at("text"), "the launcher started 2 processes, but MPI reports 1 rank"));
}

TEST_F(Doctor, RejectsUnknownAndRepeatedOptions) {
    expect_refusal("doctor --scatch here", {"unknown option --scatch; did you mean --scratch?"});
    expect_refusal("doctor --scatch here", {"unknown option --scatch; did you mean --scratch?"}, 2);
    expect_refusal("doctor here", {"doctor takes options only, but 'here' is neither an option nor the value of one"});
    expect_refusal("doctor --json --json", {"--json is given twice"});
}

TEST_F(Doctor, RejectsASimulation) {
    if (programs() == mpi_libraries()) GTEST_SKIP() << "built without SimGrid";

    const Outcome outcome = run("doctor", 2, mpi_libraries());

    EXPECT_EQ(outcome.code, 2) << outcome.err;
    ASSERT_EQ(sentences(outcome).size(), 1U) << outcome.err;
    EXPECT_TRUE(has(sentences(outcome).front(),
                    "checks a real machine, but trireme-sim simulates one; use trireme doctor"));
}

TEST_F(Doctor, ListsItsOptionsInItsHelp) {
    const Outcome outcome = run("doctor --help");

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_TRUE(has(outcome.out, "Usage: trireme doctor [options]")) << outcome.out;
    EXPECT_TRUE(has(outcome.out, "--scratch DIR ")) << outcome.out;
    EXPECT_TRUE(has(outcome.out, "--json")) << outcome.out;
}

}  // namespace
}  // namespace trireme::messages
