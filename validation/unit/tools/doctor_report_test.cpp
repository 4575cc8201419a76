#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tools/doctor/findings.hpp"
#include "unit/tools/doctor_facts.hpp"

namespace trireme::tools::doctor {
namespace {

using nlohmann::json;

TEST(DoctorReportText, HasALineForEachFindingAndForEachAdvice) {
    const std::vector<Finding> findings{
        {.name = "HDF5", .status = Status::ok, .text = "1.10.8"},
        {.name = "link between", .status = Status::ok, .text = "2 us"},
        {.name = "SimGrid", .status = Status::missing, .text = "smpirun", .advice = "get it"}};

    EXPECT_EQ(to_string(findings),
              "trireme doctor: what works here\n"
              "  ok      HDF5          1.10.8\n"
              "  ok      link between  2 us\n"
              "  missing SimGrid       smpirun\n"
              "                        -> get it\n"
              "everything that training needs works here\n");
}

TEST(DoctorReportText, EndsWithTheFindingsThatFail) {
    const std::string text = to_string({{.name = "MPI", .status = Status::fails, .text = "torn"},
                                        {.name = "HDF5", .status = Status::ok, .text = "1.10.8"},
                                        {.name = "scratch", .status = Status::fails, .text = "a\nb"}});

    EXPECT_TRUE(has(text, "  fails   MPI           torn\n")) << text;
    EXPECT_TRUE(text.ends_with("no run can work until this is repaired: MPI, scratch\n")) << text;
    EXPECT_FALSE(has(text, "a\nb")) << text;  // a finding stays on one line
}

TEST(DoctorReportJson, ContainsTheFindingsAndTheirFacts) {
    Facts facts = make_facts(2, 2);
    facts.job = "4711";
    facts.job_seconds_left = 60;
    facts.pairs = {{0, 1, 5e-7, 8e9}, {0, 2, 2e-6, 1e10}};
    facts.ranks[3].gpus = {{"H100", "GPU-aa"}};

    const json all = json::parse(to_json(facts, judge_facts(facts)));

    EXPECT_EQ(all.at("schema"), 1);
    EXPECT_EQ(all.at("all_work"), true);
    EXPECT_EQ(all.at("started_by"), "mpirun of Open MPI");
    EXPECT_EQ(all.at("processes"), 4);
    EXPECT_EQ(all.at("job").at("id"), "4711");
    EXPECT_EQ(all.at("job").at("seconds_left"), 60);
    EXPECT_EQ(all.at("findings").at(0).at("name"), "program");
    EXPECT_EQ(all.at("findings").at(0).at("status"), "ok");
    ASSERT_EQ(all.at("ranks").size(), 4U);
    EXPECT_EQ(all.at("ranks").at(3).at("host"), "n1");
    EXPECT_EQ(all.at("ranks").at(3).at("takes_gpu"), "GPU-aa");
    EXPECT_FALSE(all.at("ranks").at(2).contains("takes_gpu"));
    EXPECT_EQ(all.at("ranks").at(2).at("scratch").at("free_bytes"), 5e11);
    EXPECT_FALSE(all.at("ranks").at(3).contains("scratch"));
    EXPECT_EQ(all.at("links").at(0).at("is_within_host"), true);
    EXPECT_EQ(all.at("links").at(1).at("is_within_host"), false);
    EXPECT_EQ(all.at("links").at(1).at("latency"), 2e-6);
}

TEST(DoctorReportJson, SaysThatSomethingFails) {
    Facts facts = make_facts(1, 1);
    facts.start.process_count = 2;

    EXPECT_EQ(json::parse(to_json(facts, judge_facts(facts))).at("all_work"), false);
}

TEST(DoctorReportJson, RestoresTheFactsOfARank) {
    RankFacts rank = make_facts(1, 2).ranks[0];
    rank.cores = {0, 5};
    rank.threads = 3;
    rank.gpus = {{"H100", "GPU-aa"}, {"H100", "GPU-ab"}};
    rank.node_gpus = 4;
    rank.scratch->hdf5_failure = "a sum differs";

    const RankFacts again = parse_rank_facts(to_json(rank));

    EXPECT_EQ(to_json(again), to_json(rank));
    EXPECT_EQ(again.cores, rank.cores);
    EXPECT_EQ(again.gpus, rank.gpus);
    EXPECT_EQ(again.scratch->hdf5_failure, "a sum differs");
    EXPECT_EQ(again.mpi_library, "Open MPI v4.1.4");
    EXPECT_EQ(parse_rank_facts(R"({"program": "9.9"})").program, "9.9");  // from another build
}

TEST(DoctorReportJson, AcceptsAnyHostName) {
    RankFacts rank;
    rank.host = "node\xff\"7";

    EXPECT_TRUE(has(parse_rank_facts(to_json(rank)).host, "\"7"));
}

}  // namespace
}  // namespace trireme::tools::doctor
