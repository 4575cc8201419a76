// Commands whose standard output cannot be written.
#include <sys/wait.h>

#include <cstdlib>

#include "messages/workplace.hpp"

namespace trireme::messages {
namespace {

class StandardOutput : public Workplace {
protected:
    // Runs `line` in a shell, in the folder of the test, where $trireme is the program.
    Outcome run_in_shell(const std::string& line) const {
        write("line.sh", "set -o pipefail\ntrireme=" + program_path() + "\n" + line + "\n");
        const std::string folder = path("").string();
        const int status = std::system(("cd " + folder + " && bash line.sh > out.txt 2> err.txt").c_str());
        return {.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
                .out = read("out.txt"),
                .err = read("err.txt")};
    }
};

TEST_F(StandardOutput, EndsACommandWithOneMessageIfFull) {
    for (const std::string line : {"plan --pipe 2 --microbatches 2", "plan --pipe 2 --format json", "help plan",
                                   "--version", "train --dump-config"}) {
        const Outcome outcome = run_in_shell("$trireme " + line + " > /dev/full");

        EXPECT_EQ(outcome.code, 3) << line;
        EXPECT_EQ(sentences(outcome),
                  (std::vector<std::string>{"trireme: standard output could not be written (No space left on "
                                            "device); free some space, or write to "
                                            "another file"}))
            << line << ": " << outcome.err;
    }
}

TEST_F(StandardOutput, EndsACommandQuietlyIfItsPipeHasNoReader) {
    const Outcome outcome =
        run_in_shell("$trireme plan --pipe 2 --microbatches 4096 --format json | head -n 1");

    EXPECT_EQ(outcome.code, 141) << outcome.err;  // 128 + SIGPIPE, as with other programs
    EXPECT_EQ(outcome.out, "{\n");
    EXPECT_EQ(outcome.err, "");
}

}  // namespace
}  // namespace trireme::messages
