// The messages about wrong command lines, and help, version, completion and dumped configurations.
#include <cstdlib>

#include "messages/workplace.hpp"

namespace trireme::messages {
namespace {

using CommandLine = Workplace;

TEST_F(CommandLine, SuggestsTheNearestOption) {
    expect_refusal("train --batchs 16", {"unknown option --batchs; did you mean --batch?"});
    expect_refusal("prepare --outputs a.h5", {"unknown option --outputs; did you mean --output?"});
    expect_refusal("inspect --verfiy a.h5", {"unknown option --verfiy; did you mean --verify?"});
}

TEST_F(CommandLine, ReportsTheLineOfAnUnknownOptionInAConfigFile) {
    write("base.ini", "[run]\nbatchs = 16\n");

    expect_refusal("train --config base.ini", {"base.ini, line 2: unknown option batchs; did you mean batch?"});
}

TEST_F(CommandLine, SuggestsTheNearestCommand) {
    expect_refusal("trian", {"unknown command 'trian'; did you mean train?"});
    expect_refusal("", {"no command is given", "--help"});
}

TEST_F(CommandLine, PrintsHelpAndVersionToStandardOutput) {
    for (const char* line : {"--help", "help train", "train --help", "prepare --help", "inspect --help",
                             "doctor --help", "--version"}) {
        const Outcome outcome = run(line);

        EXPECT_EQ(outcome.code, 0) << line;
        EXPECT_EQ(outcome.err, "") << line;
        EXPECT_NE(outcome.out, "") << line;
    }
}

TEST_F(CommandLine, IsCompletedByBash) {
    write("completion", run("help --completion").out);
    write(
        "script.sh",
        "source ./completion\n"
        "complete_words() { COMP_WORDS=(trireme \"$@\"); COMP_CWORD=$#; _trireme; echo \"${COMPREPLY[*]}\"; }\n"
        "complete_words pl\n"
        "complete_words train --mo\n"
        "complete_words simulate --ra\n"
        "complete_words train --move ''\n"
        "complete_words inspect comp\n");

    ASSERT_EQ(std::system(("cd '" + path(".").string() + "' && bash script.sh > words").c_str()), 0);

    EXPECT_EQ(read("words"),
              "plan\n--model --momentum --move\n--ranks\nstop overlap twins restart\n"
              "completion\n");
}

TEST_F(CommandLine, ReadsADumpedConfigBackUnchanged) {
    const Outcome first = run("train --batch 16 --lr 1e-3 --dump-config");
    write("dump.ini", first.out);

    const Outcome second = run("train --config dump.ini --dump-config");

    EXPECT_EQ(first.code, 0) << first.err;
    EXPECT_NE(first.out.find("\nbatch = 16\n"), std::string::npos) << first.out;
    EXPECT_EQ(second.out, first.out);
}

}  // namespace
}  // namespace trireme::messages
