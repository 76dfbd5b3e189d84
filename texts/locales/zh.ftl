### 机器人自己说的话，简体中文。
###
### 语气：简短、平实，不用“你”或“您”；请求用“请”。工具 = tool，调用 = call，轮 = turn。
### 句号用全角，前后文相接时不加空格。

## Words that other texts use

Quoted = “{ $text }”
Sentences = { $first }{ $second }
TakesNothing = /{ $command } 后面不需要任何内容。
NothingFollows = 这个命令后面不需要任何内容。
OwnerAlone = 只有机器人的所有者可以这样做。

## The commands in menus and in /help

SummaryHelp = 我是谁，能做什么
SummaryStatus = 正在运行、等待的任务和今天的用量
SummaryStop = 停止当前任务；加 all 停止全部
SummarySameAsStop = 与 /stop 相同
SummaryNew = 开始新的对话
SummaryQueue = 在当前任务之后再做：/queue 内容
SummaryRetry = 重新运行上一条失败或被跳过的消息
SummaryUndo = 撤销上一个任务对文件的修改
SummaryFiles = 工作区或其中某个目录的内容
SummaryGet = 发送文件：/get 路径
SummaryModel = 这里由哪个模型回答，以及如何切换
SummaryLanguage = 我在这里使用的语言
SummaryContext = 我是否阅读本群之前的消息
SummaryApprovals = 等待决定的调用，附带按钮
SummaryPairings = 谁想使用这个机器人；仅限所有者
SummaryChats = 谁可以使用这个机器人；仅限所有者
SummaryUnpair = 取消配对：/unpair ID；仅限所有者
SummarySchedules = 所有聊天的定时任务；仅限所有者
SummaryUsage = 7 天内的模型用量；仅限所有者
SummaryHealth = 机器人各部分的状态；仅限所有者
SummaryWhoAmI = 用户和本聊天的 ID
SummarySameAsHelp = 与 /help 相同

## Answers to commands

WhatIAm = 我是 Autonous，一个在计算机上替人做事的智能体。我在自己的工作区里读写和搜索文件，并在沙盒中运行命令；计算机的其他部分我无法访问。我做的一切都有记录。
Examples =
    请写下要做的事，例如：
    • 工作区里有什么？
    • 写一个按日期重命名所有照片的脚本，并试运行。
    • 找出项目中所有的 TODO，并按文件排序。
ExamplesWithoutModel =
    没有配置模型，因此每条消息都是一次工具调用，例如：
    • ls path=.
    • grep pattern=TODO
    • bash cmd="date"
    要让我回答，请用模型的密钥（如 ANTHROPIC_API_KEY 或 OPENAI_API_KEY）或 OPENAI_BASE_URL 启动我：参见 docs/models.md。
ApprovalsInTerminal = `supervisor approvals` 列出等待决定的调用；用 `supervisor approve` 和 `supervisor deny` 作决定。
NoApprovals = 本聊天没有等待决定的调用。
ApprovalsComeAgain = { $count } 个调用等待决定；它们会带着按钮再发一次。
CancelUsage = /cancel 停止当前任务；没有任务时，取消最新一条等待的消息。/cancel all 停止全部。
CancelStopping = 正在停止当前任务。
CancelStoppedParked = 等待决定的任务已停止。
CancelledWaiting = 已取消 { $count } 条等待的消息：{ $texts }。
StillWaiting = 还有 { $count } 条消息在等待：{ $texts }。/stop all 会一并取消。
NothingToCancel = 没有可取消的内容。
GetUsage = /get 路径 发送文件，例如 /get notes/today.md；/files 列出文件。
NoFiles = 这里没有文件。
TextAlone = 本聊天只显示文本。文件在工作区里；/files 会列出它。
NoAnswerFromTools = 工具服务器没有响应。请稍后再发一次。
DatabaseUnavailable = 数据库暂时不可用。请稍后再发一次。
NewUsage = /new 开始新的对话。请单独发送，然后再写要做的事。
NewBegun = 新的对话开始了：之前说过的话我不再记得。文件和操作记录保持不变。
QueueUsage = 请在 /queue 后写明当前任务结束后要做什么。
RetryUsage = /retry 重新运行最近一条失败或被跳过的消息。
RetryRunning = 重新运行：{ $text }
RetryNothing = 没有可重新运行的内容：本聊天没有失败或被跳过的消息。
UndoUsage = /undo 撤销上一个任务对文件的修改；后面不需要任何内容。
UndoNotEnded = 一个修改过文件的任务还没有结束。请等它结束，或先 /stop，再 /undo。
UndoNothing = 没有可撤销的内容：最近一周，本聊天的任务除通过命令外没有修改过文件。
UndoneBefore = 该任务的修改已经撤销。
UndoneBack = 已恢复：{ $path }
UndoneRemoved = 已删除：{ $path }
UndoneAsBefore = 已还原：{ $path }
UndoneNothing = 没有撤销任何修改。
UndoneInPart = 其余的没有撤销。
WhoYouAre = 发送者是 { $sender }。
WhereThisIs = 本聊天在渠道 { $channel } 中的 ID 是 { $chat }。
WhereThisIsNamed = 本聊天“{ $name }”在渠道 { $channel } 中的 ID 是 { $chat }。
ModelUsage = /model 显示本聊天由哪个模型回答。/model 名称 切换到另一个，/model default 切换回来。
ModelChosen = 从下一条消息起，本聊天由 { $name } 回答。
ModelUnknown = 这里没有模型“{ $name }”。
ModelNone = 没有配置模型：每条消息都是一次工具调用。参见 docs/models.md。
ModelFirst = 第一个模型
ModelAsChosen = 按照所选，本聊天由 { $name } 回答。
ModelGone = 本聊天由 { $first } 回答，因为 { $gone } 已不再配置。
ModelFixed = 这个聊天始终由 { $name } 回答：这是管理员的设置。
ModelAnswers = 本聊天由 { $name } 回答。
ModelNoOther = 没有其他模型：我的运营者可以在 models.toml 里添加。
ModelSwitch = 用 /model 加以下名称之一切换：{ $names }。
LanguageAsk = 我在本聊天中使用中文。要换成哪种语言？模型用写给它的语言回答。
LanguageList = 我在本聊天中使用中文。用 /language 加以下代码之一切换：{ $codes }。/language default 取消选择。
LanguageUnknown = 我不会使用“{ $code }”。
LanguageChosen = 从现在起，我在本聊天中使用中文。
LanguageByDefault = 本聊天不再指定语言。我现在使用中文。
ContextUsage = /context 说明我是否阅读有人叫我之前本群的消息；/context on 和 /context off 可以更改。
ContextOn = 有人在这里叫我时，模型会阅读此前本群最新的 { $count } 条消息。它们只保存在内存里，我停止后就会忘记。为此 Telegram 必须让我看到这些消息：请在 BotFather 关闭隐私模式，或把我设为管理员。/context off 可以结束。
ContextOff = 在这里我只阅读对我说的话。管理员可以用 /context on 更改。
ContextGroupsAlone = /context 用于群组：在这里我会阅读你写的全部内容。
ContextAdministratorsAlone = 只有本群的管理员能更改我在这里阅读什么。

## /status

NothingRuns = 没有正在运行的任务。
StatusWaitsForWorker = 等待空闲的工作进程。
StatusWaitsBehind = 等待空闲的工作进程，前面还有 { $before } 个。
StatusWaitsForSender = 等待消息的其余部分。
StatusFetching = 正在获取 { $name }。
StatusAsked = 正在问你：{ $question }
NothingWaits = 没有等待的消息。
MessagesWait = { $count } 条消息在等待。
StatusParked = 已等待决定 { $age }：{ $text }（第 { $turns } 轮）
StatusRunning = 已运行 { $age }：{ $text }（第 { $turns } 轮）
StatusRunningTool = 已运行 { $age }：{ $text }（第 { $turns } 轮，最近的工具 { $tool }）
Today = 今天 (UTC)：{ $tasks } 个任务，{ $turns } 轮，输入 { $input } 个 token，输出 { $output } 个。
TodayWithCost = 今天 (UTC)：{ $tasks } 个任务，{ $turns } 轮，输入 { $input } 个 token，输出 { $output } 个，费用 { $cost }。
UsedByChat = 本聊天已用：{ $parts }。
UsedByUser = 本人已用：{ $parts }。
UsedTasks = 每天 { $limit } 个任务中的 { $used } 个
UsedTurns = 每天 { $limit } 轮中的 { $used } 轮
UsedTokens = 每天 { $limit } 个 token 中的 { $used } 个
UsedCommandSeconds = 每天 { $limit } 秒命令时间中的 { $used } 秒
UsedMoney = 每天费用 { $limit } 中的 { $used }

## For the owner

ChatBySettings = { $chat }：由设置允许
ChatPaired = { $chat }：{ $title }，已配对
NoChats = 没有聊天可以使用这个机器人。
UnpairUsage = /unpair ID 取消配对；/chats 列出 ID。
UnpairBySettings = { $chat } 由机器人的设置允许，只能在设置中取消。
UnpairUnknown = 没有 ID 为 { $chat } 的已配对聊天。
UnpairDone = { $chat } 不能再使用这个机器人，它请求的任务已取消。
ScheduleOnce = { $at }，在 { $chat }：{ $text }
ScheduleRepeated = { $at }，之后 { $every }，在 { $chat }：{ $text }
NothingScheduled = 没有定时任务。
UsageLine = { $day } { $chat }：{ $tasks } 个任务，{ $turns } 轮，输入 { $input } 个 token，输出 { $output } 个（{ $model }）
UsageLineWithCost = { $day } { $chat }：{ $tasks } 个任务，{ $turns } 轮，输入 { $input } 个 token，输出 { $output } 个，费用 { $cost }（{ $model }）
NoUsage = 最近 7 天没有使用过模型。
HealthUnknown = 暂时没有信息。
ListMore = ……还有 { $count } 项：命令行会显示全部。
PairingsOwnerAlone = 谁可以使用这个机器人，只由它的所有者决定。
NoStranger = 没有陌生人在等待答复。
PairingInTerminal = { $title }（{ $channel } 的聊天 { $chat }）：supervisor pair { $code }

## Strangers and pairing

StrangerRefused =
    这个机器人还不为本聊天工作。它的运营者可以在一小时内允许：supervisor pair { $code }

    本聊天的 ID 是 { $chat }。
StrangerAsks = { $title } 想使用这个机器人（聊天 ID { $chat }）。请确认认识对方后再允许：对方能做的和所有者一样多。代码 { $code } 一小时内有效。
ButtonAllow = 允许
ButtonIgnore = 忽略
StrangerWaits = { $title } 想使用这个机器人。按钮在下面。
StrangersWait = { $count } 个聊天想使用这个机器人。按钮在下面。
StrangersBehind = 还有 { $count } 个在等答复：{ $names }。
StrangersBehindAndOthers = 还有 { $count } 个在等答复：{ $names } 等。
StrangersWrote = 又有 { $count } 个陌生人给这个机器人写了消息。/pairings 显示谁在等待。
CodeTooLate = 这个代码已被使用或已过期。
StrangerAllowed = { $title }（聊天 ID { $chat }）现在可以使用这个机器人。/unpair { $chat } 可以撤回，在终端中用 supervisor unpair { $chat }。
StrangerIgnored = 已忽略 { $title }（聊天 ID { $chat }）。在终端中，“supervisor pair { $code }” 仍可允许。
Welcome = 现在可以使用这个机器人了。/help 说明它能做什么。

## Presses of buttons, and what somebody types instead

PressAllowed = 已允许。
PressDenied = 已拒绝。
PressAnswered = 已回答。
PressIgnored = 已忽略。
PressStopping = 正在停止。
PressCancelled = 已取消。
PressEnded = 这已经结束了。
PressNothing = 这个按钮已失效。
PressNoted = 已记下。工具服务器恢复响应后生效。
PressDecidedBefore = 这已经决定过，或者已经超时。
PressNotWaitedFor = 已经不再等待这个决定。
NotAnApprover = 只有这个机器人的审批人可以决定。
DecidedBefore = 这已经决定，正在传达。
StopNotAllowed = 只有这个机器人为之工作的人可以停止它。
PairingOwnerDecides = 只有机器人的所有者可以决定。
UseTheButtons = 有一个调用等待决定。请使用问题下方的按钮，或回复该问题“是”或“不”。/approvals 会再显示一次。
AnswerNotAllowed = 只有这个机器人为之工作的人可以回答。
NotTheAsker = 只有提出这项任务的人或这个机器人的审批人可以回答。
AnswerNoOption = 请按其中一个按钮，或回复选项的编号。
AnswerTooLong = 你的回答太长，请发短一点的。
LanguageNotAllowed = 只有这个机器人为之工作的人可以选择语言。
ButtonStop = 停止

## Who is obeyed, and what is not run

AdministratorsAlone = 在这个群里，我只听管理员的。
ListedAlone = 在这个群里，我只听运营者允许的人。
ForwardedCommand = 我不执行转发的命令。请自己写一遍。
UnknownAdministrators = 无法读取这个群的管理员，所以什么都没做。请稍后再发一次。
SkippedWhileOff = 我关闭期间来了 { $count } 条消息，没有运行。/retry 运行最新的一条；要运行更早的，请重复发送。
Outage = 我现在无法保存消息：数据库或它所在的磁盘不接受更改。消息不会丢失。一有空间，我会自动继续。
Unreadable = 我无法读取这种消息。请写下需要什么，或发送文件。
FileTooLarge = 这个文件太大：Telegram 只给机器人最大 20 MiB 的文件。请发送更小的文件、分成几部分，或发送链接。

## Progress

ProgressWorking = 处理中 · { $elapsed } · 第 { $turn } 轮
ProgressParked = 等待决定 · { $elapsed } · 第 { $turn } 轮
ProgressWaitsForModel = 等待模型 · { $elapsed }
ProgressModelUnreachable = 无法连接 { $address } 上的模型（{ $cause }）。正在重试。
ProgressStopping = 正在停止 · { $elapsed }
ProgressTokens = { $tokens } 个 token
ProgressAdded = 已补充 { $messages } 条消息
Seconds = { $seconds } 秒
MinutesAndSeconds = { $minutes } 分 { $seconds } 秒
ProgressWaitsForWorker = 等待工作进程
ProgressWaitsBehind = 等待中 · 前面还有 { $before } 个
ProgressWaitsForSender = 等待消息的其余部分
ProgressFetching = 正在获取 { $name }

## Approvals

ApprovalAsks =
    可以调用 { $tool } 吗（风险 { $risk ->
        [low] 低
        [medium] 中
        [high] 高
       *[other] { $risk }
    }）？
ApprovalBy = 请求来自 { $session }。
ApprovalOnceOnly = 只能允许这一次调用：它会运行的内容无法事先全部知道。
ApprovalExtentTask = “{ ButtonOnce }”只对这次调用有效。选择“{ ButtonTask }”或“{ ButtonChat }”后，以下调用在那里不再询问：{ $covers }。
ApprovalExtentChat = “{ ButtonOnce }”只对这次调用有效。选择“{ ButtonChat }”后，以下调用在那里不再询问：{ $covers }。
ApprovalReveal = 隐藏的内容可用 `supervisor approvals { $id } --reveal` 查看。
ApprovalFile = 等待决定的 { $tool } 调用全文。
ApprovalBeginning = 这只是开头：上面的文件包含该调用的全部 { $bytes } 字节。
ButtonOnce = 仅此一次
ButtonTask = 此任务
ButtonChat = 此聊天
ButtonDeny = 拒绝
ReasonDryRun = 试运行不会删除任何内容
ReasonDelete = 此调用会删除文件
ReasonScript = 此调用会运行技能的脚本
ReasonControlFiles = 此调用可能留下会被其他程序执行的文件
ReasonSendsData = 此调用会把数据发送到另一台机器
ReasonNewHost = 此调用会访问不在 AUTONOUS_FETCH_ALLOWED_HOSTS 中的主机
ReasonOtherChat = 此调用会发送到另一个聊天
ReasonNewContact = 本聊天还没有用这个地址给这个联系人写过消息
ReasonSeenOutside = 此调用在其任务读取外部内容之后安排以后的任务
CoversCalls = 对 `{ $tool }` 的调用
CoversCommands = { "" }，命令以 { $list } 开头
CoversPaths = { "" }，路径类似 { $list }
CoversHosts = { "" }，主机类似 { $list }
CoversCircumstances = { "" }，情形为 { $list }
CoversArguments = { "" }，参数为 { $list }
CoversDefaultRule = 默认规则 { $number }
CoversBoth = { $first }；以及{ $last }
CoversAt = { $calls }，仅限 { $hosts }
OutcomeDenied = 已拒绝。
OutcomeDeniedBy = 已被 { $by } 拒绝。
OutcomeDeniedWhy = 已拒绝：{ $reason }。
OutcomeDeniedByWhy = 已被 { $by } 拒绝：{ $reason }。
OutcomeOnce = 已允许一次。
OutcomeOnceBy = 已由 { $by } 允许一次。
OutcomeTask = 已允许用于此任务。
OutcomeTaskBy = 已由 { $by } 允许用于此任务。
OutcomeChat = 已允许用于此聊天。
OutcomeChatBy = 已由 { $by } 允许用于此聊天。
CoversTask = 在它结束之前，以下调用在那里不再询问：{ $covers }。
CoversMinutes = { $minutes } 分钟内，以下调用在那里不再询问：{ $covers }。
CoversHours = { $hours } 小时内，以下调用在那里不再询问：{ $covers }。
CoversHoursAndMinutes = { $hours } 小时 { $minutes } 分钟内，以下调用在那里不再询问：{ $covers }。
OutcomeExpired = 没有人及时决定，所以没有执行。
AskReply = 请回复你的答案。
AskReplyInstead = 或者回复其他答案。
OutcomeAnswered = 已回答：{ $answer }
OutcomeAnsweredBy = { $by } 已回答：{ $answer }
OutcomeNoAnswer = 没有人及时回答。
OutcomeWithdrawn = 已撤回。
QuestionComesAgain = 这个问题在下面再次出现。

## Files, schedules and the end of tasks

FileKind =
    { $kind ->
        [photo] 照片
        [voice-message] 语音消息
        [audio] 音频
        [video-note] 视频消息
        [video] 视频
        [animation] 动图
        [document] 文档
       *[other] 文件
    }
FileFailed = 无法保存{ $kind }。{ $why }
FileNotYet = 暂时无法获取 { $name }；我会继续尝试。
FileGivenUp = 无法获取。请再发送一次。
FileTooManyMegabytes = 它超过 { $megabytes } MB。
NotDoneByAccess = 未执行，因为机器人不再为本聊天工作：“{ $text }”，原定 { $due }。
NotDoneByAge = 未执行，因为停机超过一天：“{ $text }”，原定 { $due }。
EmptyReply = （回答为空。）
WholeAnswer = 完整的回答；作为文本会有 { $messages } 条消息。
CancelledBefore = 在做任何事之前就已取消。
CancelledAfter = 已取消。在此之前调用过工具，全部如下：{ $calls }。
CancelledAfterLast = 已取消。在此之前调用过工具，最后 { $count } 次如下：{ $calls }。
CallDone = { $tool }（完成）
CallFailed = { $tool }（失败）
CallInterrupted = { $tool }（中断）
TaskFailed =
    没能完成：{ $error }

    要再试一次，请发送 /retry。
TaskFailedAfter =
    没能完成，试了 { $tries } 次。最后一次：{ $error }

    要再试一次，请发送 /retry。
WorkerExited = 任务期间工作进程退出了（{ $status }）。
ResultNotStored = 无法保存这次尝试的结果。
SupervisorRestarted = 任务期间监管程序重新启动了。
NodeGone = 运行该任务的机器已不可用。
NodeAway = 存放此聊天文件的机器（{ $node }）没有运行。您的消息会等到它恢复。
LimitUsedUpMinutes = 限额已用完：{ $limit }。将在 00:00 UTC 恢复，还有 { $minutes } 分钟。
LimitUsedUpHours = 限额已用完：{ $limit }。将在 00:00 UTC 恢复，还有 { $hours } 小时。
LimitKept = 消息已保留，届时运行。
LimitSendAgain = 届时请再发一次消息，或执行 `supervisor requeue { $task }`。
LimitTasks =
    { $of ->
        [chat] 本聊天
       *[user] 每人
    }每天 { $limit } 个任务
LimitTurns =
    { $of ->
        [chat] 本聊天
       *[user] 每人
    }每天 { $limit } 轮
LimitTokens =
    { $of ->
        [chat] 本聊天
       *[user] 每人
    }每天 { $limit } 个 token
LimitCommandSeconds =
    { $of ->
        [chat] 本聊天
       *[user] 每人
    }每天 { $limit } 秒命令时间
LimitMoney =
    { $of ->
        [chat] 本聊天
       *[user] 每人
    }每天费用 { $limit }

## Tasks that end without an answer

StoppedAtLimit = 已达到限额，只能停下：{ $limit }。
StoppedStalled = 只能停下：同样的调用连续 { $rounds } 次得到同样的结果。
ToolServerSilent = 工具服务器在此期间没有响应。
DoneSoFar = 目前已完成：
DoneNothing = 目前已完成：没有调用过工具。
EarlierCalls = 更早的 { $count } 次调用
OutcomeUnknown = 当时正在运行，结果未知
LastNoted = 最后的记录：{ $note }
NoAnswerYet = 未完成：还没有最终的回答。
AskAgainTomorrow = 限额恢复后请再问一次。
AskAgainSmaller = 请缩小步骤再问一次，或提高限额。
AskAgainRephrased = 请换个说法，或说明缺少什么。
AskAgainFixed = 原因解决后请再问一次。
LimitOfTurns = { $turns } 轮（AUTONOUS_CONTROL_MAX_TURNS）
LimitOfSeconds = { $seconds } 秒（AUTONOUS_CONTROL_MAX_WALL_TIME_SECONDS）
LimitOfTokens = { $tokens } 个 token（AUTONOUS_CONTROL_MAX_TOKENS）
LimitOfDayTurns = 每天的轮数（policy.toml），00:00 UTC 恢复
LimitOfDayTokens = 每天的 token 数（policy.toml），00:00 UTC 恢复
LimitOfDayMoney = 每天的费用（policy.toml），00:00 UTC 恢复
ModelRateLimit = 模型服务商暂时不接受更多请求；请稍后再试
ModelOverloaded = 模型服务商过载或出现故障；请稍后再试
ModelRefusesKey = 模型服务商拒绝了密钥；请更正 AUTONOUS_MODEL_API_KEY
ModelNoCredit = 模型账户余额已用完；运营者可在服务商处充值或提高限额，或把 AUTONOUS_MODEL_API_KEY 设为另一个账户的密钥
ModelRefusesRequest = 模型服务商拒绝了请求；请检查 AUTONOUS_MODEL_NAME 和 AUTONOUS_MODEL_BASE_URL；若模型不能调用函数，请设置 AUTONOUS_MODEL_TOOL_PROTOCOL=json
ModelContextTooLong = 对话对模型来说太长；请缩小步骤，或选择窗口更大的模型
ModelUnreachable = 无法连接模型服务商，或连接中断；请稍后再试
ModelServerUnreachable = 无法连接 { $address } 上的模型（{ $cause }）
ModelStalled = 模型服务商停止响应；请稍后再试
ModelInvalidReply = 模型服务商发来的不是有效的回复
ModelAsksToWait = { $error }；要求等待 { $seconds } 秒
ModelPaused = { $error }（连续失败 { $failures } 次，暂停 { $seconds } 秒）
WorkerInternal = 工作进程内部错误；原因见其日志。
