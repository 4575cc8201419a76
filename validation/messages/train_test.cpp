// The messages of `train` about sizes, corpora and run directories that it cannot use. It refuses them before
// it writes anything; the first test shows that the same command trains when nothing is wrong.
#include "messages/workplace.hpp"

namespace trireme::messages {
namespace {

class Train : public Workplace {
protected:
    void SetUp() override { make_corpus(); }

    // Runs two ranks with one command line each. `prefix` precedes the program of the second.
    Outcome run_two_commands(const std::string& first, const std::string& prefix, const std::string& second,
                             std::size_t mpi) const {
        std::vector<std::string> all = words(first + " : -n 1 " + prefix);
        all.push_back(program_path(mpi));
        for (const std::string& word : words(second)) all.push_back(word);
        return run(all, 1, mpi);
    }

    // Flips a bit of the first token of the first row that begins a function: "d", "e", "f" as two bytes each.
    void flip_a_bit() const {
        std::string bytes = read("corpus.h5");
        const std::size_t place = bytes.find(std::string("d\0e\0f\0", 6));
        ASSERT_NE(place, std::string::npos);
        bytes[place] = static_cast<char>(bytes[place] ^ 1);
        write("corpus.h5", bytes);
    }
};

TEST_F(Train, CompletesAValidRun) {
    const Outcome outcome = train("--run-dir run");

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    EXPECT_TRUE(std::filesystem::exists(path("run/steps.jsonl")));
    EXPECT_NE(read("run/config.ini").find("\nsteps = 2\n"), std::string::npos);
}

// The corpus has twenty rows. A step of nineteen samples may contain some of the longest rows twice, for which
// memory must suffice.
TEST_F(Train, PacksAcrossTheBorderOfTwoEpochs) {
    const Outcome outcome =
        run("train --corpus corpus.h5 --steps 12 --batch 19 --layers 1 --width 8 --heads 1 --max-length 256 "
            "--length pack "
            "--validation-share 0 --long truncate --threads 1 --quiet --run-dir run");

    EXPECT_EQ(outcome.code, 0) << outcome.err;
}

TEST_F(Train, WritesNothingInADryRun) {
    const auto before = content();

    const Outcome outcome = train("--run-dir run --dry-run");

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(content(), before);
}

TEST_F(Train, RejectsHeadsThatDoNotDivideTheWidth) {
    expect_refusal("train --corpus corpus.h5 --steps 2 --width 128 --heads 5", {"--width 128", "--heads 5"});
}

TEST_F(Train, RejectsALengthBeyondThePositions) {
    expect_train_refusal("--max-length 300", {"--max-length 300", "256"});
}

TEST_F(Train, RejectsFewerSamplesThanMicrobatches) {
    expect_train_refusal("--microbatches 5", {"--batch 4", "--microbatches 5"});
}

TEST_F(Train, RejectsMoreReplicasThanRanks) {
    expect_train_refusal("--data 2", {"needs 2 ranks", "data 2", "the job has 1", "change --pipe, --data"});
}

TEST_F(Train, RejectsAnUnknownModel) {
    expect_train_refusal("--model gpt2-tyni", {"gpt2-tyni", "did you mean gpt2-tiny?"});
}

TEST_F(Train, RejectsATaskThatModelOrCorpusCannotServe) {
    expect_train_refusal("--task span", {"a gpt2 model has no head for the task span", "language", "--model"});
    expect_train_refusal("--task classify --model bert-tiny", {"corpus.h5 has no classes", "--label FIELD"});
}

TEST_F(Train, RejectsACorpusWithoutTheSpecialTokensOfTheTask) {
    expect_train_refusal("--model bert-tiny", {"[CLS], [SEP], [MASK]", "--special-tokens bert"});
}

TEST_F(Train, RejectsAnUnknownArchitecture) {
    write("t5/config.json", R"({"architectures": ["T5ForConditionalGeneration"], "model_type": "t5"})");
    write("t5/model.safetensors", "");

    for (const char* option : {"--model t5/config.json", "--init t5"}) {
        expect_train_refusal(option, {"t5/config.json", "T5ForConditionalGeneration", "LlamaForCausalLM"});
    }
}

TEST_F(Train, RejectsAnInvalidOrMissingConfigJson) {
    write("config.json", "{\"architectures\":");

    expect_train_refusal("--model config.json", {"config.json is not valid JSON"});
    expect_train_refusal("--model none/config.json", {"none/config.json", "No such file or directory"});
}

TEST_F(Train, StartsFromAnEarlierRunOfTheSameModel) {
    ASSERT_EQ(train("--run-dir first").code, 0);

    const Outcome outcome = run("train --corpus corpus.h5 --init first --steps 1 --batch 4 --run-dir second");

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("\ninit      first/checkpoints/step-2\n"), std::string::npos) << outcome.out;
}

TEST_F(Train, RejectsInitialWeightsOfADifferentShape) {
    ASSERT_EQ(train("--run-dir first").code, 0);

    expect_train_refusal("--init none", {"the model none does not exist", "name a checkpoint"});
    expect_refusal("train --corpus corpus.h5 --steps 2 --init first --width 32",
                   {"has the shape (257, 16)", "has (257, 32)", "choose the model that it was saved from"});
    expect_refusal("train --corpus corpus.h5 --steps 2 --init first --layers 2",
                   {"first/checkpoints/step-2 lacks 12 of the model's 28 parameters", "transformer.h.1.ln_1"});
}

TEST_F(Train, RejectsImagesOfADifferentSize) {
    write("images.bin", std::string(3 * 3073, '\0'));
    ASSERT_EQ(run("prepare images.bin --format cifar10 --quiet --output images.h5").code, 0);
    const std::string line = "train --corpus images.h5 --steps 2 --batch 1 ";

    expect_refusal(line + "--model vit-base",
                   {"3 x 32 x 32", "vit-base reads 3 x 224 x 224", "--image-size 32", "--patch"});
    expect_refusal(line + "--model vit-base --image-size 32 --patch 5", {"--image-size 32", "--patch 5"});
    expect_refusal(line, {"images.h5 holds images", "gpt2-tiny", "--model vit-tiny"});
    expect_train_refusal("--model vit-tiny", {"vit-tiny reads images", "corpus.h5", "text"});
}

TEST_F(Train, RejectsAMissingCorpus) {
    expect_refusal("train --corpus none.h5 --steps 2", {"none.h5", "does not exist", "trireme prepare"});
}

TEST_F(Train, RejectsATruncatedCorpus) {
    std::filesystem::resize_file(path("corpus.h5"), std::filesystem::file_size(path("corpus.h5")) / 2);

    expect_train_refusal("", {"corpus.h5", "make it again"});
}

TEST_F(Train, RejectsAFileThatIsNotACorpus) {
    write("corpus.h5", "once upon a time\n");

    expect_train_refusal("", {"corpus.h5", "not an HDF5 file"});
}

TEST_F(Train, DetectsAFlippedBitInTheCorpus) {
    flip_a_bit();

    const Outcome outcome = train("--run-dir run");

    EXPECT_EQ(outcome.code, 2) << outcome.err;
    ASSERT_EQ(sentences(outcome).size(), 1U) << outcome.err;
    EXPECT_NE(outcome.err.find("corpus.h5"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("damaged"), std::string::npos) << outcome.err;
}

TEST_F(Train, RejectsTokensBeyondTheVocabulary) {
    expect_train_refusal("--vocabulary 100", {"--vocabulary 100", "257"});
}

TEST_F(Train, RejectsACorpusOfADifferentTokenizer) {
    expect_train_refusal("--model gpt2", {"tokenizer", "bytes", "257", "50257"});
}

TEST_F(Train, RejectsACorpusWithoutUsableSamples) {
    expect_train_refusal("--long drop --max-length 1", {"corpus.h5", "--max-length 1"});
}

TEST_F(Train, RejectsARunDirectoryThatCannotBeCreated) {
    expect_train_refusal("--run-dir corpus.h5/run", {"corpus.h5/run", "--run-dir"});
}

TEST_F(Train, RejectsARunDirectoryWithRecordedSteps) {
    write("run/steps.jsonl", "{\"step\":1}\n");

    expect_train_refusal("--run-dir run", {"run", "already holds", "--run-dir"});
}

TEST_F(Train, PrintsOneMessageForAllRanks) {
    write("run/steps.jsonl", "{\"step\":1}\n");

    expect_train_refusal("--batchs 16", {"unknown option --batchs; did you mean --batch?"}, 2);
    expect_refusal("train --corpus none.h5 --steps 2", {"none.h5", "does not exist"}, 2);
    expect_train_refusal("--run-dir run", {"run", "already holds"}, 2);
}

TEST_F(Train, EndsOnAllRanksIfOneHasAnUnknownOption) {
    const Outcome outcome = run_two_commands("train --corpus corpus.h5 --steps 1000000 --quiet --run-dir run",
                                             "", "train --batchs 16", 0);

    EXPECT_EQ(outcome.code, 2) << outcome.err;
    ASSERT_EQ(sentences(outcome).size(), 1U) << outcome.err;
    EXPECT_EQ(sentences(outcome).front(), "trireme: rank 1: unknown option --batchs; did you mean --batch?");
}

TEST_F(Train, EndsWhenARankIsKilled) {
    for (std::size_t mpi = 0; mpi < mpi_libraries(); ++mpi) {
        const std::string endless =
            "train --corpus corpus.h5 --steps 1000000 --quiet --run-dir run" + std::to_string(mpi);

        const Outcome outcome = run_two_commands(endless, "timeout -s KILL 2", endless, mpi);

        EXPECT_NE(outcome.code, 0) << outcome.err;
    }
}

TEST_F(Train, EndsInvalidIfTheLossIsNotFinite) {
    const Outcome outcome = train("--lr 1e30 --clip 0 --lr-schedule constant --run-dir run");

    EXPECT_EQ(outcome.code, 2) << outcome.err;
    ASSERT_EQ(sentences(outcome).size(), 1U) << outcome.err;
    EXPECT_NE(outcome.err.find("lower --lr, or skip such updates with --on-nan skip"), std::string::npos);
    EXPECT_NE(read("run/summary.json").find("INVALID"), std::string::npos);
}

TEST_F(Train, RejectsEvaluationsWithoutValidationRows) {
    expect_train_refusal("--eval-every 1 --validation-share 0", {"--eval-every 1", "--validation-share 0"});
}

TEST_F(Train, RejectsAModelLargerThanTheMemory) {
    expect_refusal("train --corpus corpus.h5 --steps 2 --model gpt2-xl --vocabulary 257 --layers 1000",
                   {"MB left", "--microbatches"});
}

TEST_F(Train, RejectsAPlanAboveTheMemoryLimit) {
    expect_train_refusal("--memory-limit 10kB",
                         {"rank 0 needs", "with schedule 1f1b", "--memory-limit is 10,000"});
    expect_train_refusal("--schedule auto --memory-limit 10kB", {"with schedule auto", "raise it"}, 2);
    expect_train_refusal("--cost F=1;F=2", {"--cost is given for 2 stages", "has 1"});
}

TEST_F(Train, DumpsOneConfigForAllRanks) {
    const std::string on_one_rank = run("train --batch 16 --dump-config").out;

    const Outcome on_two_ranks = run("train --batch 16 --dump-config", 2);

    EXPECT_EQ(on_two_ranks.code, 0) << on_two_ranks.err;
    EXPECT_EQ(on_two_ranks.out, on_one_rank);
}

}  // namespace
}  // namespace trireme::messages
