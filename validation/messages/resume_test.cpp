// The messages of runs that resume, and of runs that cannot write their checkpoints.
#include <sys/mount.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "messages/workplace.hpp"

namespace trireme::messages {
namespace {

namespace fs = std::filesystem;

class Resume : public Workplace {
protected:
    void SetUp() override { make_corpus(); }

    static std::string line(const std::string& options) {
        return "train --corpus corpus.h5 --layers 1 --width 16 --heads 2 --device reference --threads 1 " +
               options;
    }

    // Trains four steps, with a checkpoint after every second one.
    void run_first() const {
        const Outcome outcome = run(line("--batch 4 --steps 4 --checkpoint-every 2 --run-dir first"));
        ASSERT_EQ(outcome.code, 0) << outcome.err;
    }

    std::vector<std::string> names_in(const std::string& folder) const {
        std::vector<std::string> names;
        for (const auto& entry : fs::directory_iterator(path(folder)))
            names.push_back(entry.path().filename().string());
        std::sort(names.begin(), names.end());
        return names;
    }

    std::size_t lines_of(const std::string& file) const {
        const std::string text = read(file);
        return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    }
};

TEST_F(Resume, ContinuesInItsRunDirectoryAndKeepsTheNewestCheckpoints) {
    const std::string options = "--batch 4 --steps 8 --checkpoint-every 2 --keep 2 --resume auto --run-dir run";
    ASSERT_EQ(run(line("--batch 4 --steps 8 --checkpoint-every 2 --run-dir run")).code, 0);
    const std::string all = read("run/steps.jsonl");
    // Makes the files look as if the run had been killed while it wrote step 7 and its third checkpoint.
    fs::remove_all(path("run/checkpoints/step-8"));
    fs::rename(path("run/checkpoints/step-6"), path("run/checkpoints/.step-6.partial-0123abcd"));
    write("run/checkpoints/latest", "step-4\n");
    write("run/steps.jsonl", all.substr(0, all.find("{\"step\":7") + 12));

    const Outcome outcome = run(line(options));

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("\nresume    run/checkpoints/step-4; --keep was 0\n"), std::string::npos)
        << outcome.out;
    EXPECT_NE(outcome.out.find("\nstep     5/8"), std::string::npos) << outcome.out;
    EXPECT_EQ(names_in("run/checkpoints"), (std::vector<std::string>{"latest", "step-6", "step-8"}));
    EXPECT_EQ(lines_of("run/steps.jsonl"), 8U);
    EXPECT_NE(read("run/manifest.json").find("\"resumed_from\": \"run/checkpoints/step-4\""),
              std::string::npos);
}

TEST_F(Resume, StartsFromScratchWithoutACheckpoint) {
    const Outcome outcome = run(line("--batch 4 --steps 2 --resume auto --run-dir run"));

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out.find("\nresume "), std::string::npos) << outcome.out;
    EXPECT_EQ(names_in("run/checkpoints"), (std::vector<std::string>{"latest", "step-2"}));
}

TEST_F(Resume, ReportsChangedOptions) {
    run_first();

    const Outcome outcome =
        run(line("--batch 4 --steps 6 --lr 0.001 --resume first/checkpoints/step-2 --run-dir second"));

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find(
                  "\nresume    first/checkpoints/step-2; --lr was 0.0006; --steps was 4\n"
                  "resume    the run has 6 steps instead of 4, so the learning rate of step 3 is 7.50e-04 "
                  "instead of 5.00e-04; --lr-horizon 4 keeps the former schedule\n"),
              std::string::npos)
        << outcome.out;
}

// Returns the recorded values of all steps, without the times.
std::string values_of(const std::string& records) {
    std::string values;
    std::istringstream lines(records);
    for (std::string line; std::getline(lines, line);) {
        for (const std::string field : {"\"step\":", "\"loss\":", "\"grad_norm\":", "\"lr\":"}) {
            const std::size_t at = line.find(field);
            if (at != std::string::npos) values += line.substr(at, line.find_first_of(",}", at) - at) + " ";
        }
    }
    return values;
}

TEST_F(Resume, TakesItsOptionsFromTheCheckpoint) {
    const std::string few = "--device reference --threads 1 ";
    const std::string all =
        "--batch 4 --steps 6 --lr 0.002 --warmup-steps 3 --clip 0.5 --dropout 0.1 --checkpoint-every 3 ";
    ASSERT_EQ(run(line(all + "--run-dir whole")).code, 0);

    const Outcome outcome = run("train " + few + "--resume whole/checkpoints/step-3 --run-dir second");

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("\nresume    whole/checkpoints/step-3\n"), std::string::npos) << outcome.out;
    const std::string expected = values_of(read("whole/steps.jsonl"));
    EXPECT_EQ(values_of(read("second/steps.jsonl")), expected.substr(expected.find("\"step\":4")));
    EXPECT_NE(read("second/config.ini").find("\nclip = 0.5\n"), std::string::npos);

    const Outcome longer = run("train " + few + "--resume whole --steps 8 --lr-horizon 6 --run-dir third");
    EXPECT_EQ(longer.code, 0) << longer.err;
    EXPECT_NE(longer.out.find("step-6; --lr-horizon was 0; --steps was 6\n"), std::string::npos) << longer.out;
    EXPECT_EQ(longer.out.find("instead of"), std::string::npos) << longer.out;
}

TEST_F(Resume, ChoosesALayoutForADifferentNumberOfRanks) {
    ASSERT_EQ(run(line("--batch 4 --steps 2 --pipe 2 --microbatches 2 --run-dir two"), 2).code, 0);

    const Outcome outcome = run("train --device reference --threads 1 --resume two --steps 4 --run-dir one");

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("\nresume    the run had 2 ranks and now has 1, so it uses --pipe 1 --data 1 "
                               "--tensor 1 --microbatches 2; set these options"),
              std::string::npos)
        << outcome.out;
}

TEST_F(Resume, RejectsOptionsThatDoNotFitTheCheckpoint) {
    run_first();
    const std::string six = "--steps 6 --resume first ";
    const std::string init =
        "use the same value, or start another run from it with --init first/checkpoints/step-4";

    expect_refusal(line(six + "--batch 4 --seed 2"), {"was saved by a run with --seed 1, not 2", init});
    expect_refusal(line(six + "--batch 4 --order corpus"),
                   {"was saved by a run with --order shuffled, not corpus"});
    expect_refusal(line(six + "--batch 5"), {"was saved by a run with --batch 4, not 5"});
    expect_refusal(line(six + "--batch 4 --optimizer sgd"), {"--optimizer adamw, not sgd"});
    expect_refusal(line(six + "--batch 4 --dtype f64"), {"--dtype f32, not f64"});
    expect_refusal(line(six + "--batch 4 --max-length 100"), {"--max-length 256, not 100"});
    expect_refusal(line(six + "--batch 4 --validation-share 0.1"), {"--validation-share 0.02, not 0.1"});
    expect_refusal(line(six + "--batch 4 --dropout 0.3"),
                   {"holds a model with", "pdrop 0.0, not 0.3", "remove the option"});
    expect_refusal(line("--steps 4 --batch 4 --resume first"),
                   {"was saved after step 4", "ends after step 4", "raise --steps"});
    expect_refusal(line("--steps 6 --batch 4 --resume none"), {"the model none does not exist"});
    expect_refusal(line("--steps 6 --batch 4 --resume auto"), {"--resume auto", "name it with --run-dir"});
    expect_refusal(line(six + "--batch 4 --init first"),
                   {"--init first has no effect, because --resume first loads the weights"});
    expect_refusal("train --steps 6 --resume auto --run-dir new",
                   {"--run-dir new holds no checkpoint, so the run starts at step 1, but no corpus is given"});
    expect_refusal(
        line("--steps 6 --batch 4 --run-dir first"),
        {"first already holds the steps", "continue that run with --resume auto, or choose another --run-dir"});
    ASSERT_EQ(run("prepare --synthetic csn --count 21 --quiet --output corpus.h5").code, 0);
    expect_refusal(line(six + "--batch 4"), {"was saved by a run on a corpus other than corpus.h5"});
}

TEST_F(Resume, RejectsAModelWithoutTheStateOfARun) {
    run_first();
    ASSERT_EQ(run("convert first hf --quiet").code, 0);
    ASSERT_EQ(run("convert hf again --quiet").code, 0);

    expect_refusal(line("--steps 6 --batch 4 --resume hf"),
                   {"hf is a Hugging Face model, not a checkpoint", "--init hf"});
    expect_refusal(line("--steps 6 --batch 4 --resume again"),
                   {"again/step-0 holds no run that could be resumed", "--init"});
}

TEST_F(Resume, ReportsADamagedPartOnceForAllRanks) {
    run_first();
    for (const std::string& name : names_in("first/checkpoints/step-4"))
        if (name.starts_with("part-")) {
            std::string bytes = read("first/checkpoints/step-4/" + name);
            char& among_the_moments = bytes[bytes.size() - 20000];
            among_the_moments = static_cast<char>(among_the_moments ^ 1);
            write("first/checkpoints/step-4/" + name, bytes);
        }
    const Outcome outcome = run(line("--steps 6 --batch 4 --pipe 2 --resume first"), 2);

    EXPECT_EQ(outcome.code, 2);
    ASSERT_EQ(sentences(outcome).size(), 1U) << outcome.err;
    EXPECT_NE(outcome.err.find("is damaged: the SHA-256 of /"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("copy the checkpoint again, or use another one"), std::string::npos)
        << outcome.err;
}

// A file replaces the folder of checkpoints, so no rank can write there.
TEST_F(Resume, EndsIfACheckpointCannotBeWritten) {
    write("run/checkpoints", "a file");

    const Outcome outcome = run(line("--batch 4 --steps 4 --checkpoint-every 2 --run-dir run"));

    EXPECT_EQ(outcome.code, 2);
    EXPECT_NE(outcome.err.find("run/checkpoints/step-2 cannot be written: Not a directory"), std::string::npos)
        << outcome.err;
    EXPECT_EQ(lines_of("run/steps.jsonl"), 2U);
}

// The last checkpoint must be written; otherwise the run would leave nothing.
TEST_F(Resume, ContinuesWithoutACheckpointIfRequested) {
    write("run/checkpoints", "a file");

    for (const int ranks : {0, 2}) {
        fs::remove(path("run/steps.jsonl"));
        const Outcome outcome =
            run(line("--batch 4 --steps 4 --checkpoint-every 2 --on-save-error go-on --run-dir run"), ranks);

        EXPECT_EQ(outcome.code, 2);
        EXPECT_NE(outcome.out.find("NOT SAVED: "), std::string::npos) << outcome.out;
        EXPECT_NE(outcome.err.find("step-4 cannot be written: Not a directory"), std::string::npos)
            << outcome.err;
        EXPECT_EQ(lines_of("run/steps.jsonl"), 4U);
    }
}

// A disk of 4 MiB, if the test is allowed to mount one.
class SmallDisk : public Resume {
protected:
    void SetUp() override {
        Resume::SetUp();
        fs::create_directories(path("disk"));
        is_mounted_ = ::mount("tmpfs", path("disk").c_str(), "tmpfs", 0, "size=4m") == 0;
        if (!is_mounted_) GTEST_SKIP() << "no disk can be mounted here";
    }
    void TearDown() override {
        if (is_mounted_) ::umount(path("disk").c_str());
    }
    void fill(std::size_t left) const {
        const fs::space_info space = fs::space(path("disk"));
        write("disk/ballast", std::string(space.available - left, 'x'));
    }

private:
    bool is_mounted_ = false;
};

TEST_F(SmallDisk, IsReportedWhenFullAndLosesNoCheckpoint) {
    const std::string options = "--batch 4 --checkpoint-every 2 --run-dir disk/run ";
    ASSERT_EQ(run(line(options + "--steps 2")).code, 0);
    fill(100000);

    const Outcome full = run(line(options + "--steps 6 --resume auto --on-save-error go-on"));
    EXPECT_EQ(full.code, 3);
    EXPECT_NE(full.out.find("NOT SAVED: "), std::string::npos) << full.out;
    EXPECT_NE(full.err.find("No space left on device; free some space"), std::string::npos) << full.err;
    EXPECT_NE(read("disk/run/summary.json").find("\"verdict\": \"INVALID\""), std::string::npos);
    EXPECT_EQ(names_in("disk/run/checkpoints"), (std::vector<std::string>{"latest", "step-2"}));

    fs::remove(path("disk/ballast"));
    const Outcome free = run(line(options + "--steps 6 --resume auto"));
    EXPECT_EQ(free.code, 0) << free.err;
    EXPECT_NE(free.out.find("\nresume    disk/run/checkpoints/step-2"), std::string::npos) << free.out;
    EXPECT_EQ(lines_of("disk/run/steps.jsonl"), 6U);
}

TEST_F(SmallDisk, IsReportedIfReadOnly) {
    fs::create_directories(path("disk/run"));
    ASSERT_EQ(::mount("", path("disk").c_str(), "", MS_REMOUNT | MS_RDONLY, ""), 0);

    const Outcome outcome = run(line("--batch 4 --steps 2 --run-dir disk/run"));

    EXPECT_EQ(outcome.code, 2);
    EXPECT_NE(outcome.err.find("cannot be written: Read-only file system"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace trireme::messages
