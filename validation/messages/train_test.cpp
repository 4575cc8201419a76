// What `train` says of sizes, corpora and run directories that it cannot use. Each is refused before anything
// is written; the first test shows that the same command does train when nothing is wrong.
#include "messages/workplace.hpp"

namespace trireme::messages {
namespace {

class Train : public Workplace {
protected:
    void SetUp() override { make_corpus(); }

    // Two ranks with a command line each; that of the second stands behind `prefix`.
    Outcome run_beside(const std::string& first, const std::string& prefix, const std::string& second,
                       std::size_t mpi) const {
        std::vector<std::string> all = words(first + " : -n 1 " + prefix);
        all.push_back(program_path(mpi));
        for (const std::string& word : words(second)) all.push_back(word);
        return run(all, 1, mpi);
    }

    // A bit of the first token of the first row that begins a function: "d", "e", "f" as two bytes each.
    void flip_a_bit() const {
        std::string bytes = read("corpus.h5");
        const std::size_t place = bytes.find(std::string("d\0e\0f\0", 6));
        ASSERT_NE(place, std::string::npos);
        bytes[place] = static_cast<char>(bytes[place] ^ 1);
        write("corpus.h5", bytes);
    }
};

TEST_F(Train, TrainsWhereNothingIsWrong) {
    const Outcome outcome = train("--run-dir run");

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    EXPECT_TRUE(std::filesystem::exists(path("run/steps.jsonl")));
    EXPECT_NE(read("run/config.ini").find("\nsteps = 2\n"), std::string::npos);
}

// Of twenty rows, one step of nineteen samples holds some of the longest twice: memory must be there for it.
TEST_F(Train, PacksAcrossTheBorderOfTwoEpochs) {
    const Outcome outcome =
        run("train --corpus corpus.h5 --steps 12 --batch 19 --layers 1 --width 8 --heads 1 --max-length 256 "
            "--length pack "
            "--validation-share 0 --long truncate --threads 1 --quiet --run-dir run");

    EXPECT_EQ(outcome.code, 0) << outcome.err;
}

TEST_F(Train, DryRunWritesNothing) {
    const auto before = content();

    const Outcome outcome = train("--run-dir run --dry-run");

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(content(), before);
}

TEST_F(Train, RefusesHeadsThatDoNotDivideTheWidth) {
    expect_refusal("train --corpus corpus.h5 --steps 2 --width 128 --heads 5", {"--width 128", "--heads 5"});
}

TEST_F(Train, RefusesALengthBeyondThePositions) {
    expect_train_refusal("--max-length 300", {"--max-length 300", "256"});
}

TEST_F(Train, RefusesFewerSamplesThanMicroBatches) {
    expect_train_refusal("--microbatches 5", {"--batch 4", "--microbatches 5"});
}

TEST_F(Train, RefusesMoreReplicasThanRanks) { expect_train_refusal("--data 2", {"--data 2", "MPI started 1"}); }

TEST_F(Train, RefusesAnUnknownModel) {
    expect_train_refusal("--model gpt2-tyni", {"gpt2-tyni", "did you mean gpt2-tiny?"});
}

TEST_F(Train, NamesAMissingCorpus) {
    expect_refusal("train --corpus none.h5 --steps 2", {"none.h5", "does not exist", "trireme prepare"});
}

TEST_F(Train, NamesACorpusThatIsCutShort) {
    std::filesystem::resize_file(path("corpus.h5"), std::filesystem::file_size(path("corpus.h5")) / 2);

    expect_train_refusal("", {"corpus.h5", "make it again"});
}

TEST_F(Train, NamesAFileThatIsNoCorpus) {
    write("corpus.h5", "once upon a time\n");

    expect_train_refusal("", {"corpus.h5", "not an HDF5 file"});
}

TEST_F(Train, NamesACorpusWithAFlippedBit) {
    flip_a_bit();

    const Outcome outcome = train("--run-dir run");

    EXPECT_EQ(outcome.code, 2) << outcome.err;
    ASSERT_EQ(sentences(outcome).size(), 1U) << outcome.err;
    EXPECT_NE(outcome.err.find("corpus.h5"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("damaged"), std::string::npos) << outcome.err;
}

TEST_F(Train, RefusesTokensBeyondTheVocabulary) {
    expect_train_refusal("--vocabulary 100", {"--vocabulary 100", "257"});
}

TEST_F(Train, RefusesTheCorpusOfAnotherTokenizer) {
    expect_train_refusal("--model gpt2", {"tokenizer", "bytes", "257", "50257"});
}

TEST_F(Train, RefusesACorpusThatLeavesNothing) {
    expect_train_refusal("--long drop --max-length 1", {"corpus.h5", "--max-length 1"});
}

TEST_F(Train, RefusesARunDirectoryThatCannotBeMade) {
    expect_train_refusal("--run-dir corpus.h5/run", {"corpus.h5/run", "--run-dir"});
}

TEST_F(Train, RefusesARunDirectoryThatHoldsSteps) {
    write("run/steps.jsonl", "{\"step\":1}\n");

    expect_train_refusal("--run-dir run", {"run", "already holds", "--run-dir"});
}

TEST_F(Train, SaysOneSentenceForAllRanks) {
    write("run/steps.jsonl", "{\"step\":1}\n");

    expect_train_refusal("--batchs 16", {"unknown option --batchs; did you mean --batch?"}, 2);
    expect_refusal("train --corpus none.h5 --steps 2", {"none.h5", "does not exist"}, 2);
    expect_train_refusal("--run-dir run", {"run", "already holds"}, 2);
}

TEST_F(Train, EndsEverywhereWhenOneRankAloneCannotGoOn) {
    const Outcome outcome = run_beside("train --corpus corpus.h5 --steps 1000000 --quiet --run-dir run", "",
                                       "train --batchs 16", 0);

    EXPECT_EQ(outcome.code, 2) << outcome.err;
    ASSERT_EQ(sentences(outcome).size(), 1U) << outcome.err;
    EXPECT_EQ(sentences(outcome).front().rfind("trireme: rank 1 (", 0), 0U) << outcome.err;
    EXPECT_NE(outcome.err.find("unknown option --batchs; did you mean --batch?"), std::string::npos);
}

TEST_F(Train, EndsWhenARankIsKilled) {
    for (std::size_t mpi = 0; mpi < mpi_libraries(); ++mpi) {
        const std::string endless =
            "train --corpus corpus.h5 --steps 1000000 --quiet --run-dir run" + std::to_string(mpi);

        const Outcome outcome = run_beside(endless, "timeout -s KILL 2", endless, mpi);

        EXPECT_NE(outcome.code, 0) << outcome.err;
    }
}

TEST_F(Train, EndsInvalidWhereTheLossIsNoNumber) {
    const Outcome outcome = train("--lr 1e30 --clip 0 --lr-schedule constant --run-dir run");

    EXPECT_EQ(outcome.code, 2) << outcome.err;
    ASSERT_EQ(sentences(outcome).size(), 1U) << outcome.err;
    EXPECT_NE(outcome.err.find("lower --lr, or leave such steps out with --on-nan skip"), std::string::npos);
    EXPECT_NE(read("run/summary.json").find("INVALID"), std::string::npos);
}

TEST_F(Train, RefusesToEvaluateNothing) {
    expect_train_refusal("--eval-every 1 --validation-share 0", {"--eval-every 1", "--validation-share 0"});
}

TEST_F(Train, RefusesWhatTheMachineCannotHold) {
    expect_refusal("train --corpus corpus.h5 --steps 2 --model gpt2-xl --vocabulary 257 --layers 1000",
                   {"MB left", "--microbatches"});
}

TEST_F(Train, DumpsOneConfigForAllRanks) {
    const std::string alone = run("train --batch 16 --dump-config").out;

    const Outcome together = run("train --batch 16 --dump-config", 2);

    EXPECT_EQ(together.code, 0) << together.err;
    EXPECT_EQ(together.out, alone);
}

}  // namespace
}  // namespace trireme::messages
