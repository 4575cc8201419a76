// The figures that `evaluate` prints, and its messages if model and corpus do not fit.
#include <cmath>

#include "messages/workplace.hpp"

namespace trireme::messages {
namespace {

// Trains a small GPT-2 in the run directory `run`.
class Evaluate : public Workplace {
protected:
    void SetUp() override {
        make_corpus();
        const Outcome outcome = train("--quiet --long truncate --validation-share 0.2 --run-dir run");
        ASSERT_EQ(outcome.code, 0) << outcome.err;
    }

    Outcome evaluate(const std::string& options, int ranks = 0) const {
        return run("evaluate --resume run --device reference --threads 1 --long truncate " + options, ranks);
    }

    // Returns the number after `name` at the start of a line, as text.
    static std::string figure(const std::string& text, const std::string& name) {
        const std::size_t line = text.find("\n" + name + " ");
        if (line == std::string::npos) return "no " + name + " in: " + text;
        const std::size_t begin = text.find_first_not_of(' ', line + 1 + name.size());
        return text.substr(begin, text.find_first_of(" \n", begin) - begin);
    }

    // Makes a corpus of two questions about one context.
    void make_questions() const {
        write("questions.json",
              R"({"data":[{"title":"t","paragraphs":[{"context":"red river","qas":[)"
              R"({"id":"1","question":"what?","answers":[{"text":"river","answer_start":4}]},)"
              R"({"id":"2","question":"how?","answers":[{"text":"red","answer_start":0}]}]}]}]})");
        const Outcome outcome = run("prepare questions.json --format squad --quiet --output questions.h5");
        ASSERT_EQ(outcome.code, 0) << outcome.err;
    }
};

TEST_F(Evaluate, PrintsLossAndPerplexityOfALanguageModel) {
    const Outcome outcome = evaluate("--corpus corpus.h5");

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    EXPECT_EQ(outcome.out.rfind("model         run/checkpoints/step-2 (gpt2, language), step 2\n", 0), 0U)
        << outcome.out;
    EXPECT_NE(outcome.out.find("\ncorpus        corpus.h5: 20 samples, "), std::string::npos) << outcome.out;
    EXPECT_NEAR(std::log(std::stod(figure(outcome.out, "perplexity"))), std::stod(figure(outcome.out, "loss")),
                1e-4);
    EXPECT_EQ(outcome.out.find("accuracy"), std::string::npos) << outcome.out;
}

TEST_F(Evaluate, ReproducesTheValidationLossOfTrainingOnOneAndTwoRanks) {
    const std::string steps = read("run/steps.jsonl");
    const std::string field = "\"validation_loss\":";
    const std::string loss = steps.substr(steps.find(field) + field.size(), 6);

    for (const int ranks : {0, 2}) {
        const Outcome outcome =
            evaluate("--corpus corpus.h5 --rows validation --validation-share 0.2 --length pack", ranks);

        EXPECT_EQ(outcome.code, 0) << outcome.err;
        EXPECT_EQ(figure(outcome.out, "loss").substr(0, 6), loss) << ranks << " ranks";
    }
}

TEST_F(Evaluate, WritesItsResultsAsJson) {
    const Outcome outcome = evaluate("--corpus corpus.h5 --output figures.json");

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const std::string json = read("figures.json");
    for (const char* part : {"\"model\": \"run/checkpoints/step-2\"", "\"step\": 2", "\"task\": \"language\"",
                             "\"corpus\": \"corpus.h5\"", "\"samples\": 20", "\"perplexity\": "}) {
        EXPECT_NE(json.find(part), std::string::npos) << part << " is not in: " << json;
    }
    EXPECT_NE(json.find("\"loss\": " + figure(outcome.out, "loss").substr(0, 6)), std::string::npos) << json;
}

TEST_F(Evaluate, PrintsExactMatchAndF1OfAnswers) {
    make_questions();
    const Outcome trained =
        run("train --corpus questions.h5 --model bert-tiny --layers 1 --width 16 --heads 2 --steps 1 --batch 2 "
            "--validation-share 0 --device reference --threads 1 --quiet --run-dir answers");
    ASSERT_EQ(trained.code, 0) << trained.err;

    const Outcome outcome =
        run("evaluate --resume answers --corpus questions.h5 --device reference --threads 1 --output f.json");

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("(bert, span), step 1\n"), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.out.find("2 samples, 2 targets\n"), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.out.find("\nexact match   "), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.out.find("\nF1            "), std::string::npos) << outcome.out;
    EXPECT_EQ(outcome.out.find("perplexity"), std::string::npos) << outcome.out;
    EXPECT_NE(read("f.json").find("\"exact_match\": "), std::string::npos) << read("f.json");
}

TEST_F(Evaluate, RequiresAModelAndACorpus) {
    expect_refusal("evaluate --corpus corpus.h5", {"no model is given", "--resume PATH"});
    expect_refusal("evaluate --resume run", {"no corpus is given", "--corpus FILE.h5"});
}

TEST_F(Evaluate, RejectsAMissingModel) {
    expect_refusal("evaluate --resume none --corpus corpus.h5",
                   {"the model none does not exist", "name a checkpoint"});
    write("empty/notes.txt", "");
    expect_refusal("evaluate --resume empty --corpus corpus.h5", {"empty holds no model", "name a checkpoint"});
}

TEST_F(Evaluate, ReportsAMissingCorpusOnceForAllRanks) {
    expect_refusal("evaluate --resume run --corpus none.h5", {"none.h5 does not exist", "trireme prepare"});
    expect_refusal("evaluate --resume run --corpus none.h5", {"none.h5 does not exist"}, 2);
}

TEST_F(Evaluate, RejectsATaskWithoutAHeadInTheModel) {
    expect_refusal("evaluate --resume run --corpus corpus.h5 --task span",
                   {"a gpt2 model has no head for the task span", "it has heads for: language"});
}

TEST_F(Evaluate, RejectsAModelTrainedForADifferentTask) {
    make_questions();
    const Outcome trained = run(
        "train --corpus questions.h5 --task masked --model bert-tiny --layers 1 --width 16 --heads 2 --steps 1 "
        "--batch 2 --validation-share 0 --device reference --threads 1 --quiet --run-dir hidden");
    ASSERT_EQ(trained.code, 0) << trained.err;

    expect_refusal(
        "evaluate --resume hidden --corpus questions.h5",
        {"checkpoints/step-1 was not trained for the task span", "it has no parameter qa_outputs.", "--task"});
}

TEST_F(Evaluate, RejectsACorpusWithADifferentVocabulary) {
    make_questions();

    expect_refusal("evaluate --resume run --corpus questions.h5", {"another tokenizer", "260", "257"});
}

TEST_F(Evaluate, RejectsAnEmptySelectionOfRows) {
    expect_refusal("evaluate --resume run --corpus corpus.h5 --rows validation --validation-share 0",
                   {"--validation-share 0 selects no row of corpus.h5", "--rows all"});
}

TEST_F(Evaluate, RejectsAnUnusableOutputBeforeEvaluating) {
    expect_refusal("evaluate --resume run --corpus corpus.h5 --output corpus.h5",
                   {"--output corpus.h5 already exists", "name another file"});
    expect_refusal("evaluate --resume run --corpus corpus.h5 --output none/f.json",
                   {"--output none/f.json cannot be written", "name another file"});
}

}  // namespace
}  // namespace trireme::messages
