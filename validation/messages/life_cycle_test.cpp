// Runs that lose their console, terminal or disk, and the state that they leave for the next start.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "messages/workplace.hpp"

namespace trireme::messages {
namespace {

namespace fs = std::filesystem;

class TrainingRun : public Workplace {
protected:
    void SetUp() override { make_corpus(); }

    // Ignores errors, because Open MPI's daemon may still be removing its own files there.
    void TearDown() override {
        std::error_code ignored;
        fs::remove_all(temporary_folder_, ignored);
    }

    // Returns the shell command of `train` on one rank without a launcher.
    static std::string command(const std::string& options) {
        return program_path() +
               " train --corpus corpus.h5 --layers 1 --width 16 --heads 2 --max-length 16 --batch 4 "
               "--device reference --threads 1 --run-dir run " +
               options;
    }

    // Runs a shell script in the folder, with Open MPI's files next to it. Returns its exit code.
    int shell(const std::string& script) const {
        write("script.sh", "export TMPDIR=" + temporary_folder_ + "; mkdir -p $TMPDIR\n" + script + "\n");
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

private:
    const std::string temporary_folder_ = path("").parent_path().string() + ".tmp";
};

TEST_F(TrainingRun, ContinuesAfterItsConsoleIsClosed) {
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

TEST_F(TrainingRun, SavesACheckpointWhenItsTerminalIsLostAndResumes) {
    const int code = shell(command("--steps 1000000") +
                           " > out 2> err &\n"
                           "until [ -s run/steps.jsonl ] || ! kill -0 $!; do sleep 0.01; done\n"
                           "kill -HUP $!; wait $!");

    EXPECT_EQ(code, 75) << read("err");
    const std::string step = std::to_string(lines_of("run/steps.jsonl"));
    EXPECT_TRUE(has("out", "after step " + step + " of 1000000: SIGHUP came to rank 0")) << read("out");
    EXPECT_TRUE(has("out", "run/stopped")) << read("out");
    EXPECT_EQ(read("run/checkpoints/latest"), "step-" + step + "\n");
    EXPECT_EQ(read("run/stopped"), "{\"step\":" + step + ",\"because\":\"SIGHUP came to rank 0\"}\n");

    const std::string records = read("run/steps.jsonl");
    const std::string damaged = "no record\n" + records + "{\"step\":999999}\n";
    write("run/steps.jsonl", damaged);
    const std::string steps = std::to_string(std::stoul(step) + 2);

    EXPECT_EQ(shell(command("--resume auto --steps " + steps) + " > out 2> err"), 0) << read("err");
    EXPECT_TRUE(has("out",
                    "records   run/steps.jsonl: dropped line 1, which cannot be read; the original file "
                    "is kept as run/steps.jsonl.damaged\n"
                    "records   run/steps.jsonl: dropped 1 line of steps after step " +
                        step + "; this run repeats those steps\n"))
        << read("out");
    EXPECT_EQ(read("run/steps.jsonl.damaged"), damaged);
    EXPECT_EQ(read("run/steps.jsonl").substr(0, records.size()), records);
    EXPECT_EQ(std::to_string(lines_of("run/steps.jsonl")), steps);
    EXPECT_FALSE(fs::exists(path("run/stopped")));
}

// A file replaces the folder of checkpoints, so no file can be written there.
TEST_F(TrainingRun, IsInvalidIfTheLastCheckpointCannotBeWritten) {
    for (const int ranks : {0, 2}) {
        write("run/checkpoints", "a file");
        write("run/summary.json", "{\"verdict\": \"VALID\"}");

        const Outcome outcome =
            run("train --corpus corpus.h5 --layers 1 --width 16 --heads 2 --max-length 16 "
                "--batch 4 --device reference --threads 1 --run-dir run --resume auto "
                "--steps 3",
                ranks);

        EXPECT_EQ(outcome.code, 2);
        EXPECT_TRUE(has("run/summary.json", "\"verdict\": \"INVALID\"")) << read("run/summary.json");
        EXPECT_TRUE(has("run/summary.json", "\"reason\": \"the last checkpoint was not written: "));
        EXPECT_NE(outcome.out.find("  INVALID: the last checkpoint was not written: "), std::string::npos);
        EXPECT_EQ(sentences(outcome).size(), 1U) << outcome.err;
        fs::remove_all(path("run"));
    }
}

TEST_F(TrainingRun, NeedsNoFileLocks) {
    const int code = shell("export LD_PRELOAD=" TRIREME_NO_LOCKS "\n" + command("--steps 2") + " > out 2> err");

    EXPECT_EQ(code, 0) << read("err");
    EXPECT_TRUE(
        has("out",
            "records   run/lock cannot be locked (No locks available), so a second job in this run directory "
            "would not be refused\n"))
        << read("out");
}

}  // namespace
}  // namespace trireme::messages
