### Was der Bot selbst sagt, auf Deutsch.
###
### Ton: knapp und freundlich, ohne „du“ und ohne „Sie“: Infinitive und unpersönliche Sätze („Bitte noch
### einmal schicken“). Werkzeug = tool, Aufruf = call, Runde = turn, Knopf = button, Arbeiter = worker.

## Words that other texts use

Quoted = „{ $text }“
Sentences = { $first } { $second }
TakesNothing = /{ $command } steht allein, ohne etwas dahinter.
NothingFollows = Dieser Befehl steht allein, ohne etwas dahinter.
OwnerAlone = Das kann nur, wem dieser Bot gehört.

## The commands in menus and in /help

SummaryHelp = Was ich bin und was ich kann
SummaryStatus = Was läuft, was wartet, was heute verbraucht wurde
SummaryStop = Anhalten, was ich gerade tue; mit all alles
SummarySameAsStop = Dasselbe wie /stop
SummaryNew = Ein neues Gespräch beginnen
SummaryQueue = Etwas nach der laufenden Aufgabe erledigen: /queue TEXT
SummaryRetry = Die letzte Nachricht wiederholen, die scheiterte oder übersprungen wurde
SummaryUndo = Zurücknehmen, was die letzte Aufgabe an Dateien änderte
SummaryFiles = Was im Arbeitsbereich oder in einem Verzeichnis davon liegt
SummaryGet = Eine Datei schicken: /get PFAD
SummaryModel = Welches Modell hier antwortet, und wie man wechselt
SummaryLanguage = Die Sprache, in der ich hier schreibe
SummaryContext = Ob ich lese, was die Gruppe vorher schrieb
SummaryApprovals = Die Aufrufe, die auf eine Entscheidung warten, mit Knöpfen
SummaryPairings = Wer diesen Bot nutzen will; für den Besitzer
SummaryChats = Wer diesen Bot nutzen darf; für den Besitzer
SummaryUnpair = Eine Kopplung aufheben: /unpair ID; für den Besitzer
SummarySchedules = Was alle Chats für später planten; für den Besitzer
SummaryUsage = Was die Modelle in 7 Tagen verbrauchten; für den Besitzer
SummaryHealth = Wie es jedem Teil des Bots geht; für den Besitzer
SummaryWhoAmI = Die eigene ID und die dieses Chats
SummarySameAsHelp = Dasselbe wie /help

## Answers to commands

WhatIAm = Ich bin Autonous, ein Agent, der Aufgaben auf einem Rechner erledigt. Ich lese, schreibe und durchsuche Dateien in meinem Arbeitsbereich und führe Befehle in einer Sandbox aus; den Rest des Rechners erreiche ich nicht. Alles, was ich tue, wird aufgezeichnet.
Examples =
    Einfach schreiben, was zu tun ist, zum Beispiel:
    • Was liegt im Arbeitsbereich?
    • Schreib ein Skript, das alle Fotos nach Datum umbenennt, und probier es aus.
    • Finde alle TODOs im Projekt und sortiere sie nach Datei.
ExamplesWithoutModel =
    Es ist kein Modell eingerichtet. Darum ist jede Nachricht der Aufruf eines Werkzeugs, zum Beispiel:
    • ls path=.
    • grep pattern=TODO
    • bash cmd="date"
    Antworten gibt es nach einem Start mit dem Schlüssel eines Modells, etwa ANTHROPIC_API_KEY oder OPENAI_API_KEY, oder mit OPENAI_BASE_URL: siehe docs/models.md.
ApprovalsInTerminal = `supervisor approvals` zeigt die Aufrufe, die auf eine Entscheidung warten; `supervisor approve` und `supervisor deny` entscheiden.
NoApprovals = In diesem Chat wartet kein Aufruf auf eine Entscheidung.
ApprovalsComeAgain =
    { $count ->
        [one] 1 Aufruf wartet auf eine Entscheidung; er kommt noch einmal mit seinen Knöpfen.
       *[other] { $count } Aufrufe warten auf eine Entscheidung; sie kommen noch einmal mit ihren Knöpfen.
    }
CancelUsage = /cancel hält an, was ich gerade tue, oder verwirft sonst die neueste wartende Nachricht. /cancel all hält alles an.
CancelStopping = Ich halte an, was ich gerade tat.
CancelStoppedParked = Was auf eine Entscheidung wartete, ist angehalten.
CancelledWaiting =
    { $count ->
        [one] 1 wartende Nachricht ist verworfen: { $texts }.
       *[other] { $count } wartende Nachrichten sind verworfen: { $texts }.
    }
StillWaiting =
    { $count ->
        [one] 1 Nachricht wartet noch: { $texts }. /stop all verwirft auch sie.
       *[other] { $count } Nachrichten warten noch: { $texts }. /stop all verwirft auch sie.
    }
NothingToCancel = Es gibt nichts abzubrechen.
GetUsage = /get PFAD schickt eine Datei, zum Beispiel /get notes/today.md; /files zeigt, welche es gibt.
NoFiles = Hier sind keine Dateien.
TextAlone = Dieser Chat zeigt nur Text. Die Datei liegt im Arbeitsbereich; /files führt sie auf.
NoAnswerFromTools = Der Werkzeugserver hat nicht geantwortet. Bitte gleich noch einmal schicken.
DatabaseUnavailable = Die Datenbank ist gerade nicht erreichbar. Bitte gleich noch einmal schicken.
NewUsage = /new beginnt ein neues Gespräch. Bitte allein schicken, und danach, was zu tun ist.
NewBegun = Ein neues Gespräch beginnt: Was vorher gesagt wurde, weiß ich nicht mehr. Die Dateien und die Aufzeichnung bleiben, wie sie sind.
QueueUsage = Schreib nach /queue, was nach der laufenden Aufgabe zu tun ist.
RetryUsage = /retry wiederholt die neueste Nachricht, die scheiterte oder übersprungen wurde.
RetryRunning = Wird wiederholt: { $text }
RetryNothing = Es gibt nichts zu wiederholen: Keine Nachricht dieses Chats ist gescheitert oder übersprungen worden.
UndoUsage = /undo nimmt zurück, was die letzte Aufgabe an Dateien änderte; es steht allein.
UndoNotEnded = Eine Aufgabe, die Dateien geändert hat, läuft noch. Bitte abwarten oder mit /stop anhalten, dann /undo.
UndoNothing = Es gibt nichts zurückzunehmen: Keine Aufgabe dieses Chats hat in der letzten Woche eine Datei geändert, außer durch Befehle.
UndoneBefore = Was diese Aufgabe änderte, ist schon zurückgenommen.
UndoneBack = Wieder da: { $path }
UndoneRemoved = Entfernt: { $path }
UndoneAsBefore = Wie vorher: { $path }
UndoneNothing = Nichts wurde zurückgenommen.
UndoneInPart = Der Rest wurde nicht zurückgenommen.
WhoYouAre = Absender: { $sender }.
WhereThisIs = Dieser Chat hat die ID { $chat } im Kanal { $channel }.
WhereThisIsNamed = Dieser Chat, „{ $name }“, hat die ID { $chat } im Kanal { $channel }.
ModelUsage = /model zeigt, welches Modell in diesem Chat antwortet. /model NAME wechselt zu einem anderen, /model default zurück.
ModelChosen = Ab der nächsten Nachricht antwortet in diesem Chat { $name }.
ModelUnknown = Ein Modell „{ $name }“ gibt es hier nicht.
ModelNone = Es ist kein Modell eingerichtet: Jede Nachricht ist der Aufruf eines Werkzeugs. Siehe docs/models.md.
ModelFirst = das erste Modell
ModelAsChosen = In diesem Chat antwortet wie gewählt { $name }.
ModelGone = In diesem Chat antwortet { $first }, weil { $gone } nicht mehr eingerichtet ist.
ModelFixed = In diesem Chat antwortet immer { $name }: So wurde es eingestellt.
ModelAnswers = In diesem Chat antwortet { $name }.
ModelNoOther = Ein anderes Modell gibt es nicht: Mein Betreiber kann in models.toml weitere eintragen.
ModelSwitch = Wechseln mit /model und einem dieser Namen: { $names }.
LanguageAsk = In diesem Chat schreibe ich Deutsch. Welche Sprache soll es sein? Das Modell antwortet in der Sprache, in der es angeschrieben wird.
LanguageList = In diesem Chat schreibe ich Deutsch. Wechseln mit /language und einem dieser Kürzel: { $codes }. /language default hebt die Wahl auf.
LanguageUnknown = „{ $code }“ schreibe ich nicht.
LanguageChosen = Ab jetzt schreibe ich in diesem Chat Deutsch.
LanguageByDefault = Für diesen Chat ist keine Sprache mehr gewählt. Ich schreibe jetzt Deutsch.
ContextUsage = /context sagt, ob ich lese, was diese Gruppe schrieb, bevor mich jemand anspricht; /context on und /context off ändern es.
ContextOn = Spricht mich hier jemand an, liest das Modell die { $count } neuesten Nachrichten dieser Gruppe davor. Sie bleiben nur im Arbeitsspeicher und sind beim Beenden vergessen. Dafür muss Telegram sie mir zeigen: den Privatsphäre-Modus in BotFather ausschalten oder mich zum Administrator machen. /context off beendet es.
ContextOff = Hier lese ich nur, was mich anspricht. Ändern kann das ein Administrator mit /context on.
ContextGroupsAlone = /context ist für Gruppen: Hier lese ich ohnehin alles.
ContextAdministratorsAlone = Was ich hier lese, ändert nur ein Administrator dieser Gruppe.

## /status

NothingRuns = Nichts läuft.
StatusWaitsForWorker = Wartet auf einen freien Arbeiter.
StatusWaitsBehind = Wartet auf einen freien Arbeiter, { $before } davor.
StatusWaitsForSender = Wartet auf den Rest einer Nachricht.
StatusFetching = Lade { $name }.
StatusAsked = Gefragt ist: { $question }
NothingWaits = Nichts wartet.
MessagesWait =
    { $count ->
        [one] 1 Nachricht wartet.
       *[other] { $count } Nachrichten warten.
    }
StatusParked = Wartet seit { $age } auf eine Entscheidung: { $text } (Runde { $turns })
StatusRunning = Läuft seit { $age }: { $text } (Runde { $turns })
StatusRunningTool = Läuft seit { $age }: { $text } (Runde { $turns }, letztes Werkzeug { $tool })
Today =
    Heute (UTC): { $tasks } { $tasks ->
        [one] Aufgabe
       *[other] Aufgaben
    }, { $turns } { $turns ->
        [one] Runde
       *[other] Runden
    }, { $input } Tokens hinein, { $output } heraus.
TodayWithCost =
    Heute (UTC): { $tasks } { $tasks ->
        [one] Aufgabe
       *[other] Aufgaben
    }, { $turns } { $turns ->
        [one] Runde
       *[other] Runden
    }, { $input } Tokens hinein, { $output } heraus, Kosten { $cost }.
UsedByChat = Verbrauch dieses Chats: { $parts }.
UsedByUser = Eigener Verbrauch: { $parts }.
UsedTasks = { $used } von { $limit } Aufgaben am Tag
UsedTurns = { $used } von { $limit } Runden am Tag
UsedTokens = { $used } von { $limit } Tokens am Tag
UsedCommandSeconds = { $used } von { $limit } Sekunden für Befehle am Tag
UsedMoney = { $used } von { $limit } Geld am Tag

## For the owner

ChatBySettings = { $chat }: durch die Einstellungen
ChatPaired = { $chat }: { $title }, gekoppelt
NoChats = Kein Chat darf diesen Bot nutzen.
UnpairUsage = /unpair ID hebt eine Kopplung auf; /chats zeigt die IDs.
UnpairBySettings = { $chat } ist durch die Einstellungen des Bots erlaubt, und nur dort endet das.
UnpairUnknown = Kein Chat mit der ID { $chat } war gekoppelt.
UnpairDone = { $chat } darf diesen Bot nicht mehr nutzen, und was von dort verlangt war, ist abgebrochen.
ScheduleOnce = { $at }, in { $chat }: { $text }
ScheduleRepeated = { $at }, dann { $every }, in { $chat }: { $text }
NothingScheduled = Nichts ist geplant.
UsageLine =
    { $day } { $chat }: { $tasks } { $tasks ->
        [one] Aufgabe
       *[other] Aufgaben
    }, { $turns } { $turns ->
        [one] Runde
       *[other] Runden
    }, { $input } Tokens hinein, { $output } heraus ({ $model })
UsageLineWithCost =
    { $day } { $chat }: { $tasks } { $tasks ->
        [one] Aufgabe
       *[other] Aufgaben
    }, { $turns } { $turns ->
        [one] Runde
       *[other] Runden
    }, { $input } Tokens hinein, { $output } heraus, Kosten { $cost } ({ $model })
NoUsage = In den letzten 7 Tagen wurde kein Modell benutzt.
HealthUnknown = Noch ist nichts bekannt.
ListMore = … und { $count } weitere: Die Befehlszeile zeigt alle.
PairingsOwnerAlone = Wer diesen Bot nutzen darf, entscheidet nur der Besitzer.
NoStranger = Niemand Unbekanntes wartet auf eine Antwort.
PairingInTerminal = { $title } (Chat { $chat } von { $channel }): supervisor pair { $code }

## Strangers and pairing

StrangerRefused =
    Dieser Bot arbeitet noch nicht für diesen Chat. Der Betreiber kann ihn innerhalb einer Stunde zulassen: supervisor pair { $code }

    Die ID dieses Chats ist { $chat }.
StrangerAsks = { $title } möchte diesen Bot nutzen (Chat-ID { $chat }). Bitte nur zulassen, wer bekannt ist: Danach ist dort alles möglich, was auch hier möglich ist. Der Code { $code } gilt eine Stunde.
ButtonAllow = Zulassen
ButtonIgnore = Ignorieren
StrangerWaits = { $title } möchte diesen Bot nutzen. Die Knöpfe folgen unten.
StrangersWait = { $count } Chats möchten diesen Bot nutzen. Die Knöpfe folgen unten.
StrangersBehind = { $count } weitere warten, bis das entschieden ist: { $names }.
StrangersBehindAndOthers = { $count } weitere warten, bis das entschieden ist: { $names } und andere.
StrangersWrote =
    { $count ->
        [one] 1 weiterer Unbekannter hat
       *[other] { $count } weitere Unbekannte haben
    } diesem Bot geschrieben. /pairings zeigt, wer wartet.
CodeTooLate = Dieser Code ist benutzt oder abgelaufen.
StrangerAllowed = { $title } (Chat-ID { $chat }) darf diesen Bot jetzt nutzen. /unpair { $chat } nimmt das zurück, im Terminal supervisor unpair { $chat }.
StrangerIgnored = { $title } (Chat-ID { $chat }) wird ignoriert. Im Terminal lässt „supervisor pair { $code }“ den Chat noch zu.
Welcome = Dieser Chat darf den Bot jetzt nutzen. /help zeigt, was er kann.

## Presses of buttons, and what somebody types instead

PressAllowed = Erlaubt.
PressDenied = Abgelehnt.
PressAnswered = Beantwortet.
PressIgnored = Ignoriert.
PressStopping = Wird angehalten.
PressCancelled = Abgebrochen.
PressEnded = Das ist schon zu Ende.
PressNothing = Dieser Knopf tut nichts mehr.
PressNoted = Notiert. Es wirkt, sobald der Werkzeugserver wieder antwortet.
PressDecidedBefore = Das ist schon entschieden, oder die Zeit dafür ist um.
PressNotWaitedFor = Darauf wartet nichts mehr.
NotAnApprover = Das entscheidet nur, wer bei diesem Bot Aufrufe freigeben darf.
DecidedBefore = Das ist schon entschieden und wird gerade weitergegeben.
StopNotAllowed = Anhalten kann nur, für wen dieser Bot arbeitet.
PairingOwnerDecides = Das entscheidet nur, wem dieser Bot gehört.
UseTheButtons = Ein Aufruf wartet auf eine Entscheidung. Bitte die Knöpfe der Frage benutzen oder auf die Frage mit ja oder nein antworten. /approvals zeigt sie noch einmal.
AnswerNotAllowed = Antworten kann nur, für wen dieser Bot arbeitet.
NotTheAsker = Hier antwortet nur, wer diese Aufgabe gestellt hat oder bei diesem Bot Aufrufe freigeben darf.
AnswerNoOption = Bitte einen der Knöpfe drücken oder mit der Nummer einer Antwort antworten.
AnswerTooLong = Die Antwort ist zu lang. Bitte eine kürzere schicken.
LanguageNotAllowed = Die Sprache kann nur wählen, für wen dieser Bot arbeitet.
ButtonStop = Anhalten

## Who is obeyed, and what is not run

AdministratorsAlone = In dieser Gruppe höre ich nur auf ihre Administratoren.
ListedAlone = In dieser Gruppe höre ich nur auf Personen, die mein Betreiber zugelassen hat.
ForwardedCommand = Weitergeleitete Befehle führe ich nicht aus. Bitte selbst schreiben.
UnknownAdministrators = Wer diese Gruppe verwaltet, war nicht zu erfahren; darum ist nichts geschehen. Bitte gleich noch einmal schicken.
SkippedWhileOff =
    { $count ->
        [one] Während ich aus war, kam 1 Nachricht, die ich nicht ausgeführt habe. /retry führt sie aus.
       *[other] Während ich aus war, kamen { $count } Nachrichten, die ich nicht ausgeführt habe. /retry führt die neueste aus; für ältere wiederholen.
    }
Outage = Ich kann gerade keine Nachrichten speichern: Meine Datenbank oder ihre Festplatte nimmt keine Änderungen an. Die Nachricht ist nicht verloren. Sobald Platz ist, geht es von selbst weiter.
Unreadable = Diese Art von Nachricht kann ich nicht lesen. Bitte schreiben, was gebraucht wird, oder eine Datei schicken.
FileTooLarge = Diese Datei ist zu groß: Telegram gibt einem Bot Dateien bis höchstens 20 MiB. Bitte eine kleinere schicken, in Teilen oder als Link.

## Progress

ProgressWorking = Arbeite · { $elapsed } · Runde { $turn }
ProgressParked = Warte auf eine Entscheidung · { $elapsed } · Runde { $turn }
ProgressWaitsForModel = Warte auf das Modell · { $elapsed }
ProgressModelUnreachable = Das Modell unter { $address } ist nicht erreichbar ({ $cause }). Ich versuche es weiter.
ProgressStopping = Halte an · { $elapsed }
ProgressTokens = { $tokens } Tokens
ProgressAdded =
    { $messages } { $messages ->
        [one] Nachricht
       *[other] Nachrichten
    } ergänzt
Seconds = { $seconds } s
MinutesAndSeconds = { $minutes } min { $seconds } s
ProgressWaitsForWorker = Warte auf einen Arbeiter
ProgressWaitsBehind = Warte · { $before } davor
ProgressWaitsForSender = Warte auf den Rest der Nachricht
ProgressFetching = Lade { $name }

## Approvals

ApprovalAsks =
    Darf ich { $tool } aufrufen (Risiko { $risk ->
        [low] niedrig
        [medium] mittel
        [high] hoch
       *[other] { $risk }
    })?
ApprovalBy = Verlangt von { $session }.
ApprovalOnceOnly = Erlaubt werden kann nur dieser eine Aufruf: Was alles läuft, ist vorher nicht zu wissen.
ApprovalExtentTask = „{ ButtonOnce }“ gilt für diesen Aufruf. Nach „{ ButtonTask }“ oder „{ ButtonChat }“ laufen dort ohne Frage: { $covers }.
ApprovalExtentChat = „{ ButtonOnce }“ gilt für diesen Aufruf. Nach „{ ButtonChat }“ laufen dort ohne Frage: { $covers }.
ApprovalReveal = Was verborgen ist, zeigt `supervisor approvals { $id } --reveal`.
ApprovalFile = Der ganze Aufruf von { $tool }, der auf eine Entscheidung wartet.
ApprovalBeginning = Das ist nur der Anfang: Die Datei darüber enthält alle { $bytes } Bytes des Aufrufs.
ButtonOnce = Einmal
ButtonTask = Diese Aufgabe
ButtonChat = Dieser Chat
ButtonDeny = Ablehnen
ReasonDryRun = ein Probelauf löscht nichts
ReasonDelete = der Aufruf löscht eine Datei
ReasonScript = der Aufruf startet ein Skript eines Skills
ReasonControlFiles = es können Dateien bleiben, die andere Programme ausführen
ReasonSendsData = der Aufruf schickt Daten an einen anderen Rechner
ReasonNewHost = der Aufruf fragt einen Rechner, der nicht in AUTONOUS_FETCH_ALLOWED_HOSTS steht
ReasonOtherChat = der Aufruf schickt etwas in einen anderen Chat
ReasonNewContact = dieser Chat hat diesem Kontakt unter dieser Adresse noch nicht geschrieben
ReasonSeenOutside = der Aufruf plant eine Aufgabe für später, nachdem die eigene von außen gelesen hat
CoversCalls = Aufrufe von `{ $tool }`
CoversCommands = { "" } mit Befehlen, die mit { $list } beginnen
CoversPaths = { "" } mit Pfaden wie { $list }
CoversHosts = { "" } mit Rechnern wie { $list }
CoversCircumstances = { "" } unter dem Umstand { $list }
CoversArguments = { "" } mit { $list }
CoversDefaultRule = Standardregel { $number }
CoversBoth = { $first }, und { $last }
CoversAt = { $calls }, nur bei { $hosts }
OutcomeDenied = Abgelehnt.
OutcomeDeniedBy = Abgelehnt von { $by }.
OutcomeDeniedWhy = Abgelehnt: { $reason }.
OutcomeDeniedByWhy = Abgelehnt von { $by }: { $reason }.
OutcomeOnce = Einmal erlaubt.
OutcomeOnceBy = Einmal erlaubt von { $by }.
OutcomeTask = Für diese Aufgabe erlaubt.
OutcomeTaskBy = Für diese Aufgabe erlaubt von { $by }.
OutcomeChat = Für diesen Chat erlaubt.
OutcomeChatBy = Für diesen Chat erlaubt von { $by }.
CoversTask = Bis zu ihrem Ende laufen dort ohne Frage: { $covers }.
CoversMinutes = { $minutes } min lang laufen dort ohne Frage: { $covers }.
CoversHours = { $hours } h lang laufen dort ohne Frage: { $covers }.
CoversHoursAndMinutes = { $hours } h { $minutes } min lang laufen dort ohne Frage: { $covers }.
OutcomeExpired = Niemand hat rechtzeitig entschieden, darum wurde es nicht getan.
AskReply = Bitte auf diese Nachricht antworten.
AskReplyInstead = Oder mit einer anderen Antwort antworten.
OutcomeAnswered = Beantwortet: { $answer }
OutcomeAnsweredBy = Beantwortet von { $by }: { $answer }
OutcomeNoAnswer = Niemand hat rechtzeitig geantwortet.
OutcomeWithdrawn = Zurückgezogen.
QuestionComesAgain = Diese Frage kommt unten noch einmal.

## Files, schedules and the end of tasks

FileKind =
    { $kind ->
        [photo] das Foto
        [voice-message] die Sprachnachricht
        [audio] die Audiodatei
        [video-note] die Videonachricht
        [video] das Video
        [animation] die Animation
        [document] das Dokument
       *[other] die Datei
    }
FileFailed = Ich konnte { $kind } nicht speichern. { $why }
FileNotYet = { $name } lässt sich noch nicht laden; ich versuche es weiter.
FileGivenUp = Das Laden ist gescheitert. Bitte noch einmal schicken.
FileTooManyMegabytes = Die Größe liegt über { $megabytes } MB.
NotDoneByAccess = Nicht erledigt, weil der Bot nicht mehr für diesen Chat arbeitet: „{ $text }“, fällig am { $due }.
NotDoneByAge = Nicht erledigt, weil mehr als einen Tag lang nichts lief: „{ $text }“, fällig am { $due }.
EmptyReply = (Die Antwort ist leer.)
WholeAnswer = Die ganze Antwort; als Text wären es { $messages } Nachrichten.
CancelledBefore = Das wurde abgebrochen, bevor etwas geschah.
CancelledAfter = Das wurde abgebrochen. Bis dahin aufgerufene Werkzeuge, alle davon: { $calls }.
CancelledAfterLast = Das wurde abgebrochen. Bis dahin aufgerufene Werkzeuge, die letzten { $count } davon: { $calls }.
CallDone = { $tool } (erledigt)
CallFailed = { $tool } (gescheitert)
CallInterrupted = { $tool } (unterbrochen)
TaskFailed =
    Das ging nicht: { $error }

    Für einen neuen Versuch /retry schicken.
TaskFailedAfter =
    Das ging nicht, auch nach { $tries } Versuchen. Zuletzt: { $error }

    Für einen neuen Versuch /retry schicken.
WorkerExited = Der Arbeiter hat sich während der Aufgabe beendet ({ $status }).
ResultNotStored = Das Ergebnis des Versuchs ließ sich nicht speichern.
SupervisorRestarted = Der Supervisor wurde während der Aufgabe neu gestartet.
NodeGone = Der Rechner, auf dem die Aufgabe lief, ist ausgefallen.
NodeAway = Der Rechner mit den Dateien dieses Chats ({ $node }) läuft nicht. Deine Nachricht wartet, bis er wieder da ist.
LimitUsedUpMinutes = Das Limit ist aufgebraucht: { $limit }. Es ist um 00:00 UTC wieder frei, in { $minutes } min.
LimitUsedUpHours = Das Limit ist aufgebraucht: { $limit }. Es ist um 00:00 UTC wieder frei, in { $hours } h.
LimitKept = Die Nachricht bleibt erhalten und läuft dann.
LimitSendAgain = Die Nachricht dann noch einmal schicken, oder `supervisor requeue { $task }`.
LimitTasks =
    { $limit ->
        [one] 1 Aufgabe
       *[other] { $limit } Aufgaben
    } am Tag { $of ->
        [chat] für diesen Chat
       *[user] je Person
    }
LimitTurns =
    { $limit ->
        [one] 1 Runde
       *[other] { $limit } Runden
    } am Tag { $of ->
        [chat] für diesen Chat
       *[user] je Person
    }
LimitTokens =
    { $limit } Tokens am Tag { $of ->
        [chat] für diesen Chat
       *[user] je Person
    }
LimitCommandSeconds =
    { $limit } Sekunden für Befehle am Tag { $of ->
        [chat] für diesen Chat
       *[user] je Person
    }
LimitMoney =
    { $limit } Geld am Tag { $of ->
        [chat] für diesen Chat
       *[user] je Person
    }

## Tasks that end without an answer

StoppedAtLimit = Ich musste am Limit aufhören: { $limit }.
StoppedStalled = Ich musste aufhören: Dieselben Aufrufe brachten { $rounds }-mal hintereinander dieselben Ergebnisse.
ToolServerSilent = Der Werkzeugserver hat in dieser Zeit nicht geantwortet.
DoneSoFar = Bisher getan:
DoneNothing = Bisher getan: Es wurde kein Werkzeug aufgerufen.
EarlierCalls =
    { $count ->
        [one] 1 früherer Aufruf
       *[other] { $count } frühere Aufrufe
    }
OutcomeUnknown = lief gerade, Ausgang unbekannt
LastNoted = Zuletzt notiert: { $note }
NoAnswerYet = Offen: Eine abschließende Antwort gibt es noch nicht.
AskAgainTomorrow = Bitte noch einmal fragen, sobald das Limit wieder frei ist.
AskAgainSmaller = Bitte mit einem kleineren Schritt noch einmal fragen oder das Limit erhöhen.
AskAgainRephrased = Bitte anders formulieren oder sagen, was mir fehlt.
AskAgainFixed = Bitte noch einmal fragen, sobald die Ursache behoben ist.
LimitOfTurns = { $turns } Runden (AUTONOUS_CONTROL_MAX_TURNS)
LimitOfSeconds = { $seconds } Sekunden (AUTONOUS_CONTROL_MAX_WALL_TIME_SECONDS)
LimitOfTokens = { $tokens } Tokens (AUTONOUS_CONTROL_MAX_TOKENS)
LimitOfDayTurns = Runden am Tag (policy.toml), um 00:00 UTC wieder frei
LimitOfDayTokens = Tokens am Tag (policy.toml), um 00:00 UTC wieder frei
LimitOfDayMoney = Geld am Tag (policy.toml), um 00:00 UTC wieder frei
ModelRateLimit = Der Modellanbieter nimmt gerade keine weiteren Anfragen an; später noch einmal versuchen
ModelOverloaded = Der Modellanbieter ist überlastet oder gestört; später noch einmal versuchen
ModelRefusesKey = Der Modellanbieter lehnt den Schlüssel ab; AUTONOUS_MODEL_API_KEY berichtigen
ModelNoCredit = Das Guthaben des Modellkontos ist aufgebraucht; der Betreiber lädt es beim Anbieter auf oder erhöht dort das Limit, oder setzt AUTONOUS_MODEL_API_KEY auf den Schlüssel eines anderen Kontos
ModelRefusesRequest = Der Modellanbieter lehnt die Anfrage ab; AUTONOUS_MODEL_NAME und AUTONOUS_MODEL_BASE_URL prüfen, und für ein Modell ohne Funktionsaufrufe AUTONOUS_MODEL_TOOL_PROTOCOL=json setzen
ModelContextTooLong = Das Gespräch ist für das Modell zu lang; einen kleineren Schritt verlangen oder ein Modell mit größerem Fenster wählen
ModelUnreachable = Der Modellanbieter ist nicht erreichbar, oder die Verbindung brach ab; später noch einmal versuchen
ModelServerUnreachable = Das Modell unter { $address } ist nicht erreichbar ({ $cause })
ModelStalled = Der Modellanbieter antwortet nicht mehr; später noch einmal versuchen
ModelInvalidReply = Der Modellanbieter hat etwas geschickt, das keine gültige Antwort ist
ModelAsksToWait = { $error }; er bittet, { $seconds } Sekunden zu warten
ModelPaused = { $error } (er scheiterte { $failures }-mal hintereinander und pausiert { $seconds } Sekunden)
WorkerInternal = Interner Fehler im Arbeiter; die Ursache steht in seinem Log.
