// A model knows classes by their names, independent of the numbers that a corpus gives them.
#include "messages/workplace.hpp"

namespace trireme::messages {
namespace {

class Classes : public Workplace {
protected:
    // Makes the corpus NAME.h5 from rows. Classes are numbered in the order of their first row.
    void make(const std::string& name, const std::string& rows) const {
        write(name + ".jsonl", rows);
        const Outcome outcome = run("prepare " + name + ".jsonl --label kind --special-tokens bert --quiet " +
                                    "--output " + name + ".h5");
        ASSERT_EQ(outcome.code, 0) << outcome.err;
    }

    void SetUp() override {
        make("learned", spam_ + ham_ + spam_);
        const Outcome outcome = run(
            "train --corpus learned.h5 --model bert-tiny --layers 1 --width 16 --heads 2 --steps 30 --batch 3 "
            "--lr 0.03 --dropout 0 --validation-share 0 --device reference --threads 1 --quiet --run-dir run");
        ASSERT_EQ(outcome.code, 0) << outcome.err;
    }

    // Returns the lines of `evaluate` with loss and accuracy, without the names of model and corpus.
    std::string figures(const std::string& model, const std::string& corpus) const {
        const Outcome outcome = run("evaluate --resume " + model + " --corpus " + corpus +
                                    ".h5 --device reference --threads 1 --batch 3");
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        const std::size_t loss = outcome.out.find("\nloss ");
        const std::size_t accuracy = outcome.out.find("\naccuracy ");
        if (loss == std::string::npos || accuracy == std::string::npos) return "none in: " + outcome.out;
        const auto line = [&](std::size_t at) {
            return outcome.out.substr(at, outcome.out.find('\n', at + 1) - at);
        };
        return line(loss) + line(accuracy);
    }

    const std::string spam_ = "{\"text\": \"buy now\", \"kind\": \"spam\"}\n";
    const std::string ham_ = "{\"text\": \"see you\", \"kind\": \"ham\"}\n";
};

TEST_F(Classes, AreMatchedByNameInsteadOfNumber) {
    make("again", ham_ + spam_ + spam_);

    const std::string learned = figures("run", "learned");

    EXPECT_NE(learned.find("100"), std::string::npos) << learned;
    EXPECT_EQ(figures("run", "again"), learned);
}

TEST_F(Classes, KeepTheirNamesInAnExport) {
    make("again", ham_ + spam_ + spam_);
    const Outcome outcome = run("convert run/checkpoints/step-30 exported");
    ASSERT_EQ(outcome.code, 0) << outcome.err;

    EXPECT_NE(read("exported/config.json").find("\"0\": \"spam\""), std::string::npos);
    EXPECT_EQ(figures("exported", "again"), figures("run", "learned"));
}

TEST_F(Classes, AreRejectedByNameIfTheModelLacksThem) {
    make("other", ham_ + "{\"text\": \"boil\", \"kind\": \"eggs\"}\n");

    expect_refusal("evaluate --resume run --corpus other.h5",
                   {"other.h5 has the class eggs", "the classes of bert are spam, ham"});
}

TEST_F(Classes, MustBeAtLeastTwo) {
    write("one.jsonl", spam_);

    expect_refusal("prepare one.jsonl --label kind --special-tokens bert --quiet --output one.h5",
                   {"all rows have the class spam", "--label"});
}

}  // namespace
}  // namespace trireme::messages
