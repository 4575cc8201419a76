// Runs that lose their console, their terminal or their disk, and what they leave for the next start.
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "messages/workplace.hpp"

namespace trireme::messages {
namespace {

namespace fs = std::filesystem;

class LifeCycle : public Workplace {
protected:
    void SetUp() override { make_corpus(); }

    // `train` on one rank without a launcher, as words of a shell.
    static std::string command(const std::string& options) {
        return program_path() +
               " train --corpus corpus.h5 --layers 1 --width 16 --heads 2 --max-length 16 --batch 4 "
               "--device reference --threads 1 --run-dir run " +
               options;
    }

    // The exit code of a shell script that runs in the folder, with Open MPI's files beside it.
    int shell(const std::string& script) const {
        write("script.sh", "export TMPDIR=$PWD/tmp; mkdir -p tmp\n" + script + "\n");
        const int status = std::system(("cd " + path("").string() + " && sh script.sh").c_str());
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }

    std::size_t lines_of(const std::string& file) const {
        const std::string text = read(file);
        return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    }

    bool has(const std::string& file, const std::string& words) const {
        return read(file).find(words) != std::string::npos;
    }
};

TEST_F(LifeCycle, ContinuesAfterItsConsoleIsClosed) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    ::close(ends[0]);

    const int code = shell(command("--steps 20") + " 2> err >&" + std::to_string(ends[1]));

    ::close(ends[1]);
    EXPECT_EQ(code, 0) << read("err");
    EXPECT_EQ(read("err"),
              "trireme: standard output is closed or full; the run continues without it and keeps writing its "
              "records to the run directory\n");
    EXPECT_EQ(lines_of("run/steps.jsonl"), 20U);
    EXPECT_EQ(read("run/checkpoints/latest"), "step-20\n");
    EXPECT_TRUE(has("run/summary.json", "\"verdict\": "));
}

TEST_F(LifeCycle, StopsWithACheckpointWhenItsTerminalIsLost) {
    const int code = shell(command("--steps 1000000") +
                           " > out 2> err &\n"
                           "until [ -s run/steps.jsonl ] || ! kill -0 $!; do sleep 0.01; done\n"
                           "kill -HUP $!; wait $!");

    EXPECT_EQ(code, 75) << read("err");
    const std::string step = std::to_string(lines_of("run/steps.jsonl"));
    EXPECT_TRUE(has("out", "behind step " + step + " of 1000000: SIGHUP came to rank 0")) << read("out");
    EXPECT_EQ(read("run/checkpoints/latest"), "step-" + step + "\n");
}

}  // namespace
}  // namespace trireme::messages
