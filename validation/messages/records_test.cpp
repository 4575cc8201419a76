// perf_records compares figures in documents with the files that they quote.
#include <sys/wait.h>

#include <cstdlib>

#include "messages/workplace.hpp"

namespace trireme::messages {
namespace {

class Records : public Workplace {
protected:
    void SetUp() override {
        write("a.json",
              R"({"provenance": {"commit": "1234567", "tree": "clean", "command": "perf_a"}, "step_s": 1.949,
            "verdict": "VALID"})");
        write("b.csv", "# command: perf/study b.json\nranks,mfu,program,failure\n8,0.6041,0.1.0 (1234567),\n");
        write("without-origin.txt", "# none\n");
    }

    int check(const std::string& document) const {
        write("page.md", document);
        const std::string program = std::filesystem::path(program_path()).parent_path() / "perf_records";
        const int status = std::system(
            ("cd " + path("").string() + " && " + program + " check . page.md > said 2>&1").c_str());
        return WEXITSTATUS(status);
    }
};

TEST_F(Records, MatchTheFiguresThatDocumentsQuote) {
    const std::string sources =
        "\n<!-- figures\n1.95 s = a.json /step_s\n1,949 ms = a.json /step_s\n60.4 % = b.csv mfu ranks=8\n"
        "VALID = a.json /verdict\n1.00 x = a.json /step_s : a.json /step_s\n-->\n";

    EXPECT_EQ(check("It is VALID: 1.95 s, which is\n1,949 ms or 1.00 x, at 60.4 %." + sources), 0)
        << read("said");
    EXPECT_EQ(check("It is VALID: 1.95 s, 1,949 ms, 1.00 x, 60.5 %." + sources), 1);
    EXPECT_NE(read("said").find("the text above does not quote 60.4 %"), std::string::npos) << read("said");
    EXPECT_EQ(check("1.96 s\n<!-- figures\n1.96 s = a.json /step_s\n-->\n"), 1);
    EXPECT_NE(read("said").find("1.96 s is 1.949 s in the file"), std::string::npos) << read("said");
    EXPECT_EQ(check("1 s\n<!-- figures\n1 s = a.json /no_such\n-->\n"), 1);
    EXPECT_NE(read("said").find("a.json has no value at /no_such"), std::string::npos) << read("said");
}

TEST_F(Records, NameTheirCommitTreeAndCommandOrAreListedAsExceptions) {
    write("c.json", R"({"step_s": 1})");

    EXPECT_EQ(check("nothing\n"), 1);
    EXPECT_NE(read("said").find("c.json does not name its commit, tree and command"), std::string::npos)
        << read("said");
    write("without-origin.txt", "a.json\nc.json\ngone.json\n");
    EXPECT_EQ(check("nothing\n"), 1);
    EXPECT_EQ(read("said").find("c.json does not"), std::string::npos) << read("said");
    EXPECT_NE(read("said").find("a.json names its commit; remove its line"), std::string::npos) << read("said");
    EXPECT_NE(read("said").find("lists gone.json, which does not exist"), std::string::npos) << read("said");
}

TEST_F(Records, AreComparedWithoutTheProgramVersion) {
    const std::string program = std::filesystem::path(program_path()).parent_path() / "perf_records";
    const auto compare = [&](const std::string& row) {
        write("new.csv", "# command: perf/study b.json\nranks,mfu,program,failure\n" + row + "\n");
        return WEXITSTATUS(std::system(
            ("cd " + path("").string() + " && " + program + " compare new.csv b.csv > said 2>&1").c_str()));
    };

    EXPECT_EQ(compare("8,0.6041,0.1.0 (7654321),"), 0) << read("said");
    EXPECT_EQ(compare("8,0.60410001,0.1.0 (1234567),"), 1);
    EXPECT_NE(read("said").find("b.csv has no row with ranks=8 mfu=0.60410001"), std::string::npos)
        << read("said");
}

}  // namespace
}  // namespace trireme::messages
