// `ringwright test`

import Server

func runTest(_ arguments: CommandArguments) -> ExitStatus {
    Terminal.show(TestCommand.run(TestOptions(arguments)))
}
